"""The reference, alma-memory 0.11, measured beside ALMA: it runs in an environment of its own and is driven over a pipe."""
