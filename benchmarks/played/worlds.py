"""Worlds: situations, ways and their true rates of success; the log that is drawn from them, and the questions that are asked after it."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.records import DataError

OUTCOMES = 54
REVERSAL = 0.6  # the share of the log after which some rates change
MOST_TRIES = 3
GIVEN_UP = 0.6
FIRST_ATTEMPT = datetime(2026, 1, 5, 9, tzinfo=UTC)
BETWEEN_ATTEMPTS = timedelta(hours=3)


@dataclass(frozen=True, slots=True)
class Situation:
    """One kind of task. `rates` holds for each of its ways the true rate of success before and after the reversal."""

    name: str
    task_type: str | None
    typed: float
    train: Sequence[str]
    test: Sequence[str]
    rates: Mapping[str, tuple[float, float]]

    @property
    def rates_now(self) -> dict[str, float]:
        """The rates after the reversal."""
        return {way: after for way, (_, after) in self.rates.items()}


@dataclass(frozen=True, slots=True)
class World:
    """A small project. `ways` and `errors` hold the texts of each way."""

    name: str
    language: str
    agent: str
    situations: Mapping[str, Situation]
    ways: Mapping[str, Sequence[str]]
    errors: Mapping[str, Sequence[str]]
    unrelated: Sequence[str] = ()
    preferences: Sequence[tuple[str, str]] = ()

    @property
    def user(self) -> str | None:
        """The user whom the questions name: one only where there are preferences."""
        return "user-1" if self.preferences else None

    @property
    def is_english(self) -> bool:
        return self.language == "en"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One outcome of the log, with what the memory must not see: the situation and the way."""

    task: str
    task_type: str | None
    situation: str = field(compare=False)
    way: str = field(compare=False)
    wording: str
    is_success: bool
    error: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A task that is asked, three hours after the last attempt. The memory must not see the situation; unrelated tasks have none."""

    task: str
    situation: str | None = field(compare=False)
    task_type: str | None = None


def read_worlds(path: Path) -> list[World]:
    """Reads the worlds of a file. `DataError` names all faults of all of them."""
    try:
        worlds = [_read_world(each) for each in json.loads(path.read_text(encoding="utf-8"))["worlds"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} cannot be read as worlds: {type(error).__name__} {error}") from error
    faults = [f"{world.name}: {fault}" for world in worlds for fault in find_faults(world)]
    if faults:
        raise DataError("\n".join([f"{path} holds worlds that cannot be scored:", *faults]))
    return worlds


def draw_log(world: World, seed: int, count: int = OUTCOMES) -> list[Attempt]:
    """Draws the attempts in order. A failed one may be tried again, up to twice; the order of the draws is that of the published figures."""
    chance = random.Random(f"{world.name}/{seed}")
    names = list(world.situations)
    log: list[Attempt] = []
    while len(log) < count:
        name = names[len(log) % len(names)] if chance.random() < 0.5 else chance.choice(names)
        situation = world.situations[name]
        task = chance.choice(situation.train)
        is_typed = bool(situation.task_type) and chance.random() < situation.typed
        for _ in range(MOST_TRIES):
            way = chance.choice(list(situation.rates))
            rate = situation.rates[way][len(log) > REVERSAL * count]
            is_success = chance.random() < rate
            wording = chance.choice(world.ways[way])
            error = None if is_success else chance.choice(world.errors[way])
            at = FIRST_ATTEMPT + len(log) * BETWEEN_ATTEMPTS
            log.append(Attempt(task, situation.task_type if is_typed else None, name, way, wording, is_success, error, at))
            if is_success or chance.random() < GIVEN_UP or len(log) >= count:
                break
    return log


def list_questions(world: World) -> Iterator[Question]:
    """Yields the questions in order: tasks of typed situations without and with their type, and at last the unrelated ones."""
    for name, situation in world.situations.items():
        for task in situation.test:
            yield Question(task, name)
            if situation.task_type:
                yield Question(task, name, situation.task_type)
    for task in world.unrelated:
        yield Question(task, None)


def find_faults(world: World) -> list[str]:
    """Returns what would make notes doubtful to read, or a world unlike the others.

    Errors may be shared by ways. A world with one situation need not reverse a rate: it is about one thing alone.
    """
    texts = _texts_beside_ways(world)
    faults = [f"a text stands twice: {text!r}" for text, times in Counter(map(fold, texts)).items() if times > 1]
    wordings = Counter(fold(wording) for each in world.ways.values() for wording in each)
    faults += [f"a wording stands twice: {wording!r}" for wording, times in wordings.items() if times > 1]
    for text in map(fold, texts):
        faults += [
            f"wording {wording!r} and text {text!r} contain each other"
            for wording in wordings
            if wording in text or text in wording
        ]
    for way, spoken in world.ways.items():
        if not 2 <= len(spoken) <= 4:
            faults.append(f"{way} has {len(spoken)} wordings, not 2 to 4")
        if not world.errors.get(way):
            faults.append(f"{way} has no error")
    for situation in world.situations.values():
        faults += [f"{situation.name}: {way} has no wordings" for way in situation.rates if way not in world.ways]
    does_reverse = any(before != after for each in world.situations.values() for before, after in each.rates.values())
    if len(world.situations) > 1 and not does_reverse:
        faults.append("no rate reverses")
    return faults


def fold(text: str) -> str:
    """Returns a text as it is compared: spaces made one, case ignored."""
    return " ".join(text.split()).casefold()


def _texts_beside_ways(world: World) -> list[str]:
    tasks = [task for each in world.situations.values() for task in (*each.train, *each.test)]
    errors = dict.fromkeys(error for each in world.errors.values() for error in each)
    return [*tasks, *errors, *world.unrelated, *(text for _, text in world.preferences)]


def _read_world(body: Mapping[str, Any]) -> World:
    return World(
        name=body["name"],
        language=body["language"],
        agent=body["agent"],
        situations={name: _read_situation(name, each) for name, each in body["situations"].items()},
        ways=body["ways"],
        errors=body["errors"],
        unrelated=body["unrelated"],
        preferences=[(category, text) for category, text in body.get("preferences", [])],
    )


def _read_situation(name: str, body: Mapping[str, Any]) -> Situation:
    rates = {way: tuple(rate) if isinstance(rate, list) else (rate, rate) for way, rate in body["rates"].items()}
    return Situation(name, body.get("type"), body.get("typed", 0), body["train"], body["test"], rates)
