"""Methods of `ALMA` that `alma-harness` provides. The package is imported when one of them is first used."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from alma.extensions import LateMethod, extension
from alma.memory.operation import operation

HARNESS_METHODS = (
    "checkpoint",
    "cleanup_checkpoints",
    "get_artifacts",
    "get_proactive_suggestions",
    "learn_from_spans",
    "learn_from_workflow",
    "link_artifact",
    "merge_states",
    "remembers",
    "resume",
    "retrieve_scoped",
    "wakeup",
)


def _load(name: str) -> Callable[..., Any]:
    """Returns the method as the package has it, with the one wrapper of the methods of `ALMA`."""
    methods = extension("alma_harness.methods", "harness", "workflows, wake-up, functions and traces are").HarnessMethods
    method: Callable[..., Any] = getattr(methods, name)
    return operation(method)


if TYPE_CHECKING:
    from alma_harness.methods import HarnessMethods as HarnessMethods
else:
    HarnessMethods = type("HarnessMethods", (), {name: LateMethod(_load) for name in HARNESS_METHODS})
