"""What is not installed, by the extra that brings it."""

from alma.errors import MissingDependencyError


def missing_extra(name: str, extra: str) -> MissingDependencyError:
    """The error of an import that needs an extra; an `ImportError` as well."""
    return MissingDependencyError(f"{name} needs what is not installed; install alma-langchain[{extra}]")
