"""`alma.get_proactive_suggestions`: what an agent should hear unasked, and silence where nothing is near enough."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import Field

from alma import ALMA, AntiPattern, DomainKnowledge, Outcome, Verdict
from alma.errors import ValidationError
from alma.text import quoted, shortened, telling_words
from alma.types import EpisodeStatus, Recalled
from alma_harness.progress import ProgressTracker
from alma_harness.values import Value
from alma_harness.work_items import CLOSED
from alma_integration import checked_count, checked_name, checked_time, note, optional_name

EXPIRES = "expires_at"
"""Entry of a fact's metadata: the time, in ISO 8601, at which it stops being true."""

SOON = timedelta(days=7)
MOST_EPISODES = 200
TEXT_CHARS = 300
"""Each part of a warning is shortened to this length."""

_Item = tuple[str, str, set[str]]
"""Id, text, and the words by which it is compared."""


class Suggestion(Value):
    """One suggestion. `score` is the similarity of what it rests on to the context; `source_id` is the id of a memory, an episode or a work item."""

    kind: Literal["warning", "open_item", "expiring_fact"]
    text: str
    score: float = Field(ge=0, le=1)
    source_id: str


def get_proactive_suggestions(
    alma: ALMA, current_context: str, agent: str, *, user_id: str | None, threshold: float, limit: int, now: datetime | None
) -> list[Suggestion]:
    """See `ALMA.get_proactive_suggestions`."""
    if not _is_share(threshold):
        raise ValidationError(f"threshold is {quoted(threshold)}; it must be between 0 and 1")
    most, agent, user_id = checked_count(limit, "limit"), checked_name(agent, "agent"), optional_name(user_id, "user_id")
    found = alma.retrieve(task=current_context, agent=agent, user_id=user_id, top_k=20)
    near = [item for item in found.recalled if item.factors.similarity >= threshold]
    said = [*_warnings(near), *_expiring(near, _moment(now)), *_open(alma, current_context, agent, user_id, threshold)]
    return sorted(said, key=lambda suggestion: -suggestion.score)[:most]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _moment(now: datetime | None) -> datetime:
    return checked_time(now, "now") or datetime.now(UTC)


def _warnings(near: list[Recalled]) -> Iterator[Suggestion]:
    """Yields a warning for each anti-pattern, and for each attempt at such a task that failed."""
    for item in near:
        memory = item.memory
        if isinstance(memory, Outcome) and memory.outcome is Verdict.FAILURE:
            yield Suggestion(kind="warning", text=_failed(memory), score=item.factors.similarity, source_id=memory.id)
        elif isinstance(memory, AntiPattern):
            yield Suggestion(kind="warning", text=note(memory, None), score=item.factors.similarity, source_id=memory.id)


def _failed(outcome: Outcome) -> str:
    tried = f" by {shortened(outcome.strategy_used, TEXT_CHARS)}" if outcome.strategy_used else ""
    why = outcome.user_feedback or outcome.error_message
    because = f" Why: {shortened(why, TEXT_CHARS)}" if why else ""
    return f"Failed before{tried}: {shortened(outcome.task_description, TEXT_CHARS)}.{because}"


def _expiring(near: list[Recalled], now: datetime) -> Iterator[Suggestion]:
    for item in near:
        memory = item.memory
        ends = _ends(memory) if isinstance(memory, DomainKnowledge) else None
        if isinstance(memory, DomainKnowledge) and ends is not None and ends <= now + SOON:
            word = "Expired" if ends <= now else "Expires"
            text = f"{word} {ends:%Y-%m-%d}: {memory.fact}"
            yield Suggestion(kind="expiring_fact", text=text, score=item.factors.similarity, source_id=memory.id)


def _ends(memory: DomainKnowledge) -> datetime | None:
    given = memory.metadata.get(EXPIRES)
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return None
    return None if found is None else found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _open(alma: ALMA, context: str, agent: str, user_id: str | None, threshold: float) -> Iterator[Suggestion]:
    """Yields what the agent began or is to do. The score is the share of its words that the context has."""
    said = set(telling_words(context))
    for source, text, words in (*_begun(alma, agent, user_id), *_to_do(alma, agent, user_id)):
        score = len(words & said) / len(words) if words else 0.0
        if score > 0 and score >= threshold:
            yield Suggestion(kind="open_item", text=text, score=score, source_id=source)


def _begun(alma: ALMA, agent: str, user_id: str | None) -> Iterator[_Item]:
    for episode in alma.recent_episodes(MOST_EPISODES):
        is_own = episode.agent == agent and episode.user_id in (None, user_id)
        if is_own and episode.status is EpisodeStatus.OPEN:
            yield episode.id, f"Begun and not ended: {episode.task}", set(telling_words(episode.task))


def _to_do(alma: ALMA, agent: str, user_id: str | None) -> Iterator[_Item]:
    tracker = ProgressTracker(alma=alma)
    found = {item.id: item for user in {None, user_id} for item in tracker.items(agent=agent, user_id=user)}
    for item in found.values():
        if item.status not in CLOSED and item.claimed_by in (None, agent):
            yield item.id, f"To do ({item.status}): {item.title}", set(telling_words(item.title))
