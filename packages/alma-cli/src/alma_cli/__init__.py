"""The command line of ALMA."""

__version__ = "0.1.0"


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    from alma_cli.app import run

    run()
