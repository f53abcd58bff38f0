"""`python -m benchmarks.longmemeval`."""

from benchmarks.longmemeval.runner import main

if __name__ == "__main__":
    main()
