"""What is installed, as its metadata says."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "alma-core"


def version_of(distribution: str) -> str | None:
    """The installed version, `None` if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
