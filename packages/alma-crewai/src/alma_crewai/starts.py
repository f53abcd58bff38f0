"""State of a crew at its start: its memory, its inputs, and the texts of its tasks before planning."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from crewai.memory.unified_memory import Memory
from crewai.utilities.string_utils import interpolate_only

_MEMORIES: WeakValueDictionary[str, Memory] = WeakValueDictionary()
_TEXTS: "WeakKeyDictionary[Any, str]" = WeakKeyDictionary()
_INPUTS: ContextVar[tuple[ref[Any], Mapping[str, Any]] | None] = ContextVar("alma_crewai_inputs", default=None)


def know(key: str, memory: Memory) -> None:
    """Registers a memory by the key of its storage, weakly, so that copies can find it.

    `Agent.copy`, and with it `kickoff_for_each`, `crew.copy` and `crew.train`, serialises an agent's memory and makes a plain `Memory` of
    that; a checkpoint does the same to a crew's. The serialised form of an `ALMAStorage` is its key.
    """
    _MEMORIES[key] = memory


def prepare(crew: Any, inputs: Mapping[str, Any] | None) -> None:
    """Replaces copied memories of a crew and its agents by the originals, and records the crew's inputs and the texts of its tasks."""
    if (known := _original(crew._memory)) is not None:
        crew.memory = crew._memory = known
    for agent in crew.agents:
        if (known := _original(getattr(agent, "memory", None))) is not None:
            agent.memory = known
    for task in crew.tasks if crew.planning else ():
        text = task._original_description or task.description
        if task not in _TEXTS or not text.startswith(_TEXTS[task]):  # the rest is the plan of an earlier start
            _TEXTS[task] = text
    _INPUTS.set((ref(crew), dict(inputs or {})))


def inputs_of(crew: Any) -> Mapping[str, Any]:
    """Returns the inputs that a crew began with in this context."""
    begun = _INPUTS.get()
    return begun[1] if begun is not None and crew is not None and begun[0]() is crew else {}


def text_of(task: Any, crew: Any) -> str:
    """Returns the text of a task, with its inputs and without the plan that `Crew(planning=True)` appends, which differs from run to
    run."""
    text = _TEXTS.get(task) if getattr(crew, "planning", False) else None
    if text is None:
        return str(task.description)
    inputs = getattr(crew, "_inputs", None)
    return interpolate_only(text, inputs) if inputs else text


def _original(memory: Any) -> Memory | None:
    written: Any = memory._storage if type(memory) is Memory else None
    return _MEMORIES.get(str(written.get("key"))) if isinstance(written, Mapping) else None
