"""`python -m alma`: the command line."""

from alma.cli import main

if __name__ == "__main__":
    main()
