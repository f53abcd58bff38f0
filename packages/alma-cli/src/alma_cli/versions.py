"""Versions of installed distributions."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "alma-core"


def version_of(distribution: str) -> str | None:
    """Returns the installed version, `None` if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
