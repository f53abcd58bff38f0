"""Worlds whose truth is known, to see how far what ALMA learns in them is true: `python -m benchmarks.simulation`."""
