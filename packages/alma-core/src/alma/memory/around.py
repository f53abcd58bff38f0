"""Methods of `ALMA` for workflows and wake-up, which `alma-harness` provides: one line per method."""

from types import ModuleType

from alma.extensions import extension


def harness(module: str) -> ModuleType:
    """Returns a module of `alma_harness`. `MissingDependencyError` if the package is not installed."""
    return extension(f"alma_harness.{module}", "harness", "workflows and wake-up are")


class Around:
    """What agents use around a task."""
