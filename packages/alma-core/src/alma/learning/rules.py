"""Heuristics and anti-patterns as evidence makes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alma.evidence import Tally
from alma.learning.informative_error import most_informative
from alma.learning.standing import CANDIDATE_CONFIDENCE, Standing
from alma.text import matched_text, shortened
from alma.types.doubts import flagged
from alma.types.evidence import AntiPatternText, Evidence
from alma.types.identity import from_micros
from alma.types.memories import AntiPattern, Heuristic
from alma.types.passages import Passage
from alma.types.soundness import SHOWN_CHARS as SHOWN_CHARS

NO_ERROR = "no error was recorded"
OF_USERS = "tasks of several users"
FAILED_FOR_USERS = "it failed for several users"
ARCHIVED_BY, EVIDENCE = "archived_by", "evidence"
"""What the metadata of a demoted rule says: that no caller archived it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and when a rule holds: project, time of writing, the class by its task and, where the caller named it, its type."""

    project: str
    now: int
    task: str
    task_type: str | None

    @property
    def condition(self) -> str:
        """The class in words. The words of the task are held back where they come from single users."""
        if not self.task:
            return self.task_type or OF_USERS
        return f"{self.task_type}: {self.task}" if self.task_type else self.task


def heuristic(of: Evidence, setting: Setting, standing: Standing, said: Mapping[str, object], *, memory_id: str) -> Heuristic:
    """The heuristic that rests on the evidence."""
    now = from_micros(setting.now)
    return Heuristic(
        **_base(of, setting, memory_id),
        metadata=metadata(of, setting, standing, said),
        confidence=confidence_in_success(of.operative),
        condition=setting.condition,
        strategy=shortened(of.strategy, SHOWN_CHARS),
        occurrence_count=counted(of.lifetime.trials),
        success_count=int(of.lifetime.successes),
        last_validated=from_micros(of.observed_at),
        created_at=now,
        updated_at=now,
    )


def anti_pattern(
    of: Evidence, setting: Setting, standing: Standing, said: Mapping[str, object], text: AntiPatternText, *, memory_id: str
) -> AntiPattern:
    """The anti-pattern that rests on the evidence."""
    now = from_micros(setting.now)
    return AntiPattern(
        **_base(of, setting, memory_id),
        metadata=metadata(of, setting, standing, said),
        confidence=confidence_in_failure(of.operative),
        pattern=shortened(of.strategy, SHOWN_CHARS),
        why_bad=text[0],
        better_alternative=text[1],
        occurrence_count=counted(of.lifetime.failures),
        success_count=_not_failed(of.lifetime),
        last_seen=from_micros(of.observed_at),
        created_at=now,
        updated_at=now,
    )


def reworded(kept: AntiPattern, of: Evidence, text: AntiPatternText, setting: Setting) -> AntiPattern:
    """A stored anti-pattern with what its evidence says now."""
    counts = {"occurrence_count": counted(of.lifetime.failures), "success_count": _not_failed(of.lifetime)}
    times = {"last_seen": from_micros(of.observed_at), "updated_at": from_micros(setting.now)}
    said = {"why_bad": text[0], "better_alternative": text[1], "confidence": confidence_in_failure(of.operative)}
    return kept.model_copy(update={**counts, **times, **said})


def heuristic_counts(of: Evidence) -> dict[str, Any]:
    """The columns of a heuristic's row that follow its evidence."""
    counts = {"successes": float(int(of.lifetime.successes)), "trials": float(counted(of.lifetime.trials))}
    return {**counts, "seen_at": of.observed_at, "confidence": confidence_in_success(of.operative)}


def anti_pattern_counts(of: Evidence) -> dict[str, Any]:
    """The columns of an anti-pattern's row that follow its evidence."""
    counts = {"successes": float(_not_failed(of.lifetime)), "trials": float(counted(of.lifetime.failures))}
    return {**counts, "seen_at": of.observed_at, "confidence": confidence_in_failure(of.operative)}


def metadata(of: Evidence, setting: Setting, standing: Standing, said: Mapping[str, object]) -> dict[str, Any]:
    """Returns what a rule says of itself beside its fields; `said` is how far it is believed (`level_words.said_of`)."""
    marked = flagged({"status": standing.value, "learned": True}, of.strategy, setting.task, *(what for what, _, _ in of.reasons))
    return {
        **marked,
        **({"task": setting.task} if setting.task else {"of_users": True}),
        **({"task_type": setting.task_type} if setting.task_type else {}),
        **said,
    }


def passages(first: str, second: str, keywords: Sequence[str | None]) -> tuple[Passage, ...]:
    """The task and the strategy as passages of their own: a rule is found by either. `first` is the one that the rule is about."""
    words = "\n".join(word for word in keywords if word)
    texts = [matched_text(text) for text in (first, second) if text]
    return tuple(Passage(text=text, keywords="" if place else words, position=place) for place, text in enumerate(texts))


def why_bad(of: Evidence, *, is_of_users: bool = False) -> str:
    """The most telling error that was recorded, or honestly that none was, or that those of single users are held back."""
    return most_informative(of.reasons) or (FAILED_FOR_USERS if is_of_users or not of.task else NO_ERROR)


def shortened_strategy(text: str) -> str:
    """A strategy as a rule names it."""
    return shortened(text, SHOWN_CHARS)


def confidence_in_success(operative: Tally) -> float:
    """The rate of success is above this at 80 % (one-sided)."""
    return operative.lower(CANDIDATE_CONFIDENCE)


def confidence_in_failure(operative: Tally) -> float:
    """The rate of failure is above this at 80 % (one-sided)."""
    return 1.0 - operative.upper(CANDIDATE_CONFIDENCE)


def counted(trials: float) -> int:
    """Trials as a whole number; partial successes leave halves."""
    return round(trials)


def _not_failed(lifetime: Tally) -> int:
    """Successes as a whole number, such that they and the failures make up the trials."""
    return counted(lifetime.trials) - counted(lifetime.failures)


def _base(of: Evidence, setting: Setting, memory_id: str) -> dict[str, Any]:
    return {"id": memory_id, "agent": of.agent, "user_id": of.user_id, "project_id": setting.project}
