"""Whether anything that was acknowledged is ever lost: `python -m benchmarks.durability`."""
