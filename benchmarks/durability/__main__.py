"""Starts the benchmark. Every process that it starts imports this module again, so it holds nothing else."""

from benchmarks.durability.command import main

if __name__ == "__main__":
    main()
