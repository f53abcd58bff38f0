"""Asks all questions, in this process or in several, and keeps what was found."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.longmemeval.progress import Key, Progress
from benchmarks.longmemeval.questions import Question
from benchmarks.longmemeval.recall import FIRST, NEVER_ASKED, Asked, Haystack, QuestionClock

if TYPE_CHECKING:
    from alma import ALMA
    from benchmarks.longmemeval.embedding_cache import CachedEmbedder


@dataclass(frozen=True, slots=True)
class Task:
    """Questions on one haystack, by number, with the modes to ask each in, and with a question of another haystack for each."""

    questions: tuple[tuple[int, Question], ...]
    modes: tuple[tuple[str, ...], ...]
    foreign: tuple[Question | None, ...]


def tasks(questions: Sequence[Question], modes: Sequence[str], done: Iterable[Key]) -> list[Task]:
    """The questions that are left, those that share a haystack together."""
    found = set(done)
    groups: list[list[int]] = []
    for number, question in enumerate(questions):
        if groups and questions[groups[-1][0]].sessions is question.sessions:
            groups[-1].append(number)
        else:
            groups.append([number])
    result = []
    for place, group in enumerate(groups):
        left = {number: tuple(mode for mode in modes if (number, mode) not in found) for number in group}
        wanted = [number for number in group if left[number]]
        others = groups[(place + 1) % len(groups)] if len(groups) > 1 else []
        strangers = [questions[others[rank % len(others)]] if others else None for rank, _ in enumerate(wanted)]
        if wanted:
            result.append(
                Task(
                    tuple((number, questions[number]) for number in wanted),
                    tuple(left[number] for number in wanted),
                    tuple(_unheard(stranger, questions[group[0]]) for stranger in strangers),
                )
            )
    return result


def ask(
    todo: Sequence[Task], progress: Progress, *, embedder: str, cache: Path | None, workers: int, storage: str = "sqlite"
) -> Iterator[int]:
    """Asks what is left and keeps it; yields the number of questions that each step answered. On a server the store stays: give an empty schema."""
    if workers == 1:
        with _Asker(embedder, cache, storage) as asker:
            for task in todo:
                for number, question, modes, foreign in _each(task):
                    for mode in modes:
                        progress.add((number, mode), asker.asked(question, mode, foreign))
                    yield 1
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_answered, task, embedder, cache, storage) for task in todo]):
            answers = done.result()
            for key, found in answers:
                progress.add(key, found)
            yield len({number for (number, _), _ in answers})


def _answered(task: Task, embedder: str, cache: Path | None, storage: str) -> list[tuple[Key, Asked]]:
    """What a worker process does."""
    asker = _asker_of_process(embedder, cache, storage)
    return [
        ((number, mode), asker.asked(question, mode, foreign))
        for number, question, modes, foreign in _each(task)
        for mode in modes
    ]


@lru_cache(maxsize=1)
def _asker_of_process(embedder: str, cache: Path | None, storage: str) -> "_Asker":
    """The one of a worker process, which lasts as long: its folder goes with it."""
    return _Asker(embedder, cache, storage)


def _each(task: Task) -> Iterator[tuple[int, Question, tuple[str, ...], Question | None]]:
    for (number, question), modes, foreign in zip(task.questions, task.modes, task.foreign, strict=True):
        yield number, question, modes, foreign


def _unheard(stranger: Question | None, question: Question) -> Question | None:
    """The question, unless a haystack holds its evidence by chance."""
    if stranger is None:
        return None
    here = {session.turns for session in question.sessions}
    return None if any(stranger.sessions[place].turns in here for place in stranger.gold) else stranger


class _Asker:
    """A store with a project for each haystack. Its clock stands at the moment at which a question was asked."""

    def __init__(self, embedder: str, cache: Path | None, storage: str) -> None:
        self._model = _model(embedder, cache)
        self._clock = QuestionClock()
        self._folder = tempfile.TemporaryDirectory(prefix="haystacks-")
        self._store = _opened(self._folder.name, self._model, self._clock, storage)
        self._haystack: Haystack | None = None
        self._made = 0

    def __enter__(self) -> "_Asker":
        return self

    def __exit__(self, *error: object) -> None:
        self._store.close()
        self._folder.cleanup()

    def asked(self, question: Question, mode: str, foreign: Question | None) -> Asked:
        self._clock.now = question.asked_at or NEVER_ASKED
        if self._haystack is None or self._haystack.sessions is not question.sessions:
            self._made += 1
            project = self._store.for_project(f"haystack {os.getpid()} {self._made}")
            self._haystack = Haystack(project, question.sessions, question.secrets)
        self._model.embed([question.text] + ([foreign.text] if foreign else []))  # so that no time counts the model
        return self._haystack.asked(question, mode, foreign if mode == FIRST else None)


def _model(embedder: str, cache: Path | None) -> "CachedEmbedder":
    from alma.embedding import create_embedder
    from benchmarks.longmemeval.embedding_cache import CachedEmbedder

    return CachedEmbedder(create_embedder(embedder), cache)


def _opened(folder: str, model: "CachedEmbedder", clock: QuestionClock, storage: str) -> "ALMA":
    from alma import ALMA

    return ALMA.open(folder, project_id="start", embedding_provider=model, clock=clock, storage=storage)
