"""What is installed, as its metadata says."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "alma-core"


def own_version() -> str:
    """The version of ALMA."""
    return version_of(DISTRIBUTION) or "of a source tree that is not installed"


def version_of(distribution: str) -> str | None:
    """The installed version, `None` if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
