"""Other memories, measured beside ALMA: each runs in an environment of its own and is driven over a pipe."""
