"""Asking ALMA: each haystack becomes a project, each session a conversation, and the question a retrieval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.longmemeval.guards import check_stored, name_of
from benchmarks.longmemeval.questions import Question, Session

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types.slice import MemorySlice

MODES: Mapping[str, tuple[str, ...]] = {"hybrid": ("dense", "text"), "bm25": ("text",), "dense": ("dense",)}
FIRST = next(iter(MODES))
"""The mode of which prompts, times and the relevance of foreign questions are measured: the usual one."""

AGENT = "assistant"
NEVER_ASKED = datetime(2025, 1, 1, tzinfo=UTC)
"""Where the clock stands for questions of which the data do not say when they were asked."""

DEPTH = 20
"""Number of sessions that a ranking holds, so that the reciprocal rank counts beyond ten."""

USED = 10
"""Number of sessions of which the turns are ranked and the prompts are made."""

TURNS = 20
"""Number of turns that a ranking holds."""

BUDGETS = (500, 1_000, 2_000)
"""Tokens that a prompt may have."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt of at most so many tokens shows: its tokens, and the places of the turns in it."""

    tokens: int
    turns: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question found in one mode: sessions and turns, best first, by place. `seconds` leaves out the embedding of the question.

    `relevance` is ALMA's probability that what it found is about the question, `None` where it gives none; `foreign` the same of a question of
    another haystack, asked here.
    """

    sessions: tuple[int, ...]
    turns: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0
    prompts: Mapping[int, Prompt] = field(default_factory=dict)
    relevance: float | None = None
    foreign: float | None = None


class QuestionClock:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.now = NEVER_ASKED

    def __call__(self) -> datetime:
        return self.now


class Haystack:
    """Sessions in an empty project, each as a conversation. `secrets` are ids of the data, which must not be stored."""

    def __init__(self, alma: "ALMA", sessions: Sequence[Session], secrets: Sequence[str] = ()) -> None:
        self.sessions = sessions
        self._alma = alma
        self._place_of = {store(alma, session, place): place for place, session in enumerate(sessions)}
        check_stored([alma.get(memory_id) for memory_id in self._place_of], sessions, secrets)

    def ranking(self, question: Question, mode: str) -> list[int]:
        """Returns the places of the recalled sessions, best first."""
        return [self._place_of[memory_id] for memory_id in self._retrieved(question.text, mode, DEPTH).ids]

    def asked(self, question: Question, mode: str, foreign: Question | None = None) -> Asked:
        """Returns what a question finds, in the usual mode with its prompts, its time, and what `foreign`, of another haystack, finds."""
        sessions = tuple(self.ranking(question, mode))
        begun = perf_counter()
        found = self._retrieved(question.text, mode, USED)
        seconds = perf_counter() - begun
        turns = self._turns(found)[:TURNS]
        if mode != FIRST:
            return Asked(sessions, turns, seconds)
        prompts = {budget: self._prompt(found, budget) for budget in BUDGETS}
        other = None if foreign is None else _relevance(self._retrieved(foreign.text, mode, USED))
        return Asked(sessions, turns, seconds, prompts, _relevance(found), other)

    def _retrieved(self, text: str, mode: str, top_k: int) -> "MemorySlice":
        return self._alma.retrieve(task=text, agent=AGENT, top_k=top_k, profile="recall", arms=MODES[mode])

    def _prompt(self, found: "MemorySlice", budget: int) -> Prompt:
        from alma.text import estimate_tokens

        kept, text = found.fitted(budget)
        return Prompt(estimate_tokens(text), self._turns(kept))

    def _turns(self, found: "MemorySlice") -> tuple[tuple[int, int], ...]:
        return tuple((self._place_of[turn.memory_id], turn.position) for turn in found.turns)


def _relevance(found: "MemorySlice") -> float | None:
    """The relevance of a slice; an empty one has none."""
    return found.relevance if found.recalled else 0.0


def store(alma: "ALMA", session: Session, place: int) -> str:
    """Stores a session as a conversation of its own and returns the memory's id."""
    messages = [{"role": turn.speaker, "content": turn.text} for turn in session.turns]
    return alma.add_conversation(messages, AGENT, name_of(place), at=session.time).id


def as_plain(asked: Asked) -> dict[str, Any]:
    """The result as values that JSON knows."""
    prompts = {str(budget): [prompt.tokens, list(prompt.turns)] for budget, prompt in asked.prompts.items()}
    return {
        "sessions": list(asked.sessions),
        "turns": list(asked.turns),
        "seconds": asked.seconds,
        "prompts": prompts,
        "relevance": asked.relevance,
        "foreign": asked.foreign,
    }


def from_plain(given: Mapping[str, Any]) -> Asked:
    """The result that `as_plain` wrote."""
    prompts = {int(budget): Prompt(tokens, _pairs(turns)) for budget, (tokens, turns) in given["prompts"].items()}
    turns = _pairs(given["turns"])
    return Asked(tuple(given["sessions"]), turns, given["seconds"], prompts, given["relevance"], given["foreign"])


def _pairs(listed: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((first, second) for first, second in listed)
