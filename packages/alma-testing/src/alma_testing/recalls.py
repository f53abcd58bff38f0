"""Assertions on what a memory recalls. Their messages list what it recalled instead."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alma.text import one_line, shortened
from alma.types.memories import AnyMemory, CustomMemory, Memory, UserPreference
from alma.types.slice import MemorySlice

if TYPE_CHECKING:
    from alma import ALMA

Wanted = str | Memory | Callable[[AnyMemory], object]
"""Words that a memory's text or keywords hold, in any case; a memory; or a predicate."""

FAR = 1_000
"""`top_k` for checking that a memory is never recalled."""
SHOWN = 20


def assert_recalls(
    found: "ALMA | MemorySlice | Iterable[AnyMemory]",
    wanted: Wanted,
    *,
    agent: str | None = None,
    task: str | None = None,
    user_id: str | None = None,
    within: int | None = None,
) -> AnyMemory:
    """Fails unless a memory like `wanted` is recalled, among the first `within` if that is given. Returns the memory.

    `found` is a slice, or memories in rank order, or an `ALMA`, which is asked what `agent` recalls for `task` (for the words or the text
    of `wanted` if there is no task). `wanted` is a text that the memory holds, in any case; a memory; or a predicate on memories.
    """
    [asked] = _asked(found, wanted, agent=agent, tasks=[task] if task else [], user_id=user_id, top_k=max(within or 5, 5))
    for memory in asked.memories[:within]:
        if _is_wanted(memory, wanted):
            return memory
    rank = next((rank for rank, memory in enumerate(asked.memories, 1) if _is_wanted(memory, wanted)), None)
    late = f" It is number {rank}." if rank else ""
    why = _why_not(found, wanted, asked.question, agent, user_id)
    among = "" if within is None else f" among the first {within}"
    raise AssertionError(f"{_named(wanted)} is not recalled{among}.{late}\n{asked.listing}{why}")


def assert_never_recalls(
    found: "ALMA | MemorySlice | Iterable[AnyMemory]",
    unwanted: Wanted,
    *,
    agent: str | None = None,
    task: str | Collection[str] = (),
    user_id: str | None = None,
) -> None:
    """Fails if a memory like `unwanted` is recalled at any rank.

    As `assert_recalls`. An `ALMA` is asked for each of the tasks, and also for the words or text of `unwanted` itself.
    """
    tasks = [task] if isinstance(task, str) else list(task)
    own_words = _words_of(unwanted)
    for asked in _asked(found, unwanted, agent=agent, tasks=[*tasks, *own_words], user_id=user_id, top_k=FAR):
        for rank, memory in enumerate(asked.memories, 1):
            if _is_wanted(memory, unwanted):
                raise AssertionError(
                    f"{_named(unwanted)} is recalled, as number {rank}: {_line(memory)} (id {memory.id})\n{asked.listing}"
                )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, and what was recalled for it."""

    head: str
    memories: Sequence[AnyMemory]
    question: str = ""

    @property
    def listing(self) -> str:
        """Memories that were recalled, one per line."""
        count = "1 memory" if len(self.memories) == 1 else f"{len(self.memories)} memories"
        head = f"{self.head} recalled {count}" + (":" if self.memories else ".")
        lines = [f"  {rank}. {_line(memory)}" for rank, memory in enumerate(self.memories[:SHOWN], 1)]
        rest = len(self.memories) - SHOWN
        return "\n".join([head, *lines, *([f"  … and {rest} more"] if rest > 0 else [])])


def _asked(
    found: "ALMA | MemorySlice | Iterable[AnyMemory]",
    wanted: Wanted,
    *,
    agent: str | None,
    tasks: Sequence[str],
    user_id: str | None,
    top_k: int,
) -> list[_Asked]:
    if isinstance(found, MemorySlice):
        return [_Asked(f"The task {shortened(found.query, 80)!r} of {found.agent!r}", list(found))]
    if isinstance(found, Iterable):
        return [_Asked("The caller", list(found))]
    if agent is None:
        raise TypeError("which agent recalls? Give agent=…")
    questions = list(tasks) or _words_of(wanted)
    if not questions:
        raise TypeError("a predicate says nothing to ask for: give task=…")
    return [
        _Asked(
            f"Asked as {agent!r} for {shortened(one_line(question), 80)!r}, it",
            list(found.retrieve(task=question, agent=agent, user_id=user_id, top_k=top_k)),
            question,
        )
        for question in questions
    ]


def _words_of(wanted: Wanted) -> list[str]:
    if isinstance(wanted, Memory):
        return [wanted.text]
    return [wanted] if isinstance(wanted, str) else []


def _is_wanted(memory: AnyMemory, wanted: Wanted) -> bool:
    if isinstance(wanted, Memory):
        return memory.id == wanted.id
    if isinstance(wanted, str):
        return wanted.casefold() in f"{memory.text}\n{memory.keywords}".casefold()
    return bool(wanted(memory))


def _named(wanted: Wanted) -> str:
    if isinstance(wanted, Memory):
        return f"The memory {shortened(one_line(wanted.text), 120)!r} (id {wanted.id})"
    if isinstance(wanted, str):
        return f"A memory with {shortened(wanted, 120)!r}"
    return f"A memory of which {getattr(wanted, '__name__', 'the predicate')} is true"


def _line(memory: AnyMemory) -> str:
    kind = memory.kind if isinstance(memory, CustomMemory) else memory.kind.replace("_", " ")
    owner = f"user {memory.user_id!r}" if isinstance(memory, UserPreference) else repr(memory.agent)
    return f"{kind} of {owner}: {shortened(one_line(memory.text), 120)}"


def _why_not(found: object, wanted: Wanted, question: str, agent: str | None, user_id: str | None) -> str:
    """Returns ALMA's explanation of why a memory was not found."""
    if not isinstance(wanted, Memory) or not question:
        return ""
    explanation = found.explain_retrieval(query=question, memory_id=wanted.id, agent=agent, user_id=user_id)  # type: ignore[attr-defined] # only an ALMA is asked
    return f"\n{explanation}"
