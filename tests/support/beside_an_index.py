"""Processes that share a store and an index of vectors outside of them."""

import logging
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.config import load_settings
from alma.embedding import HashEmbedder
from alma.memory import opening
from alma.memory.room import SearchSizes
from alma.protocols import CandidateSearch, SearchesVectors, VectorsRequest
from alma.storage.factories import candidates_named
from alma.types import DomainKnowledge
from other_process import OtherProcess

QUESTION = "Which bridge has rivets?"


def process(config: Path) -> OtherProcess:
    """Another process with the store of a configuration; `it` is its `Beside`."""
    here = str(Path(__file__).parent)
    return OtherProcess(
        f"import sys; sys.path.insert(0, {here!r})\nimport beside_an_index as b\nit = b.Beside({str(config)!r})\n"
    )


def work_in_turn_and_at_once(one: OtherProcess, other: OtherProcess) -> None:
    """Lets two processes learn 34 facts, first in turn and then at the same time. Each has to find all of them, by the index alone, too."""
    for number, each in enumerate((one, other, one, other), start=1):
        each.ask(f"it.learn('turn', {number})")
        assert (one.ask("it.found()"), other.ask("it.found()")) == (str(number), str(number))
    with ThreadPoolExecutor(2) as both:
        worked = both.map(lambda pair: pair[0].ask(f"it.work({pair[1]!r}, 15)"), ((one, "one"), (other, "other")))
        assert list(worked) == ["'all found'", "'all found'"]
    assert (one.ask("it.found()"), other.ask("it.found()")) == ("34", "34")
    assert one.ask("it.held()") == other.ask("it.held()") == "(34, 34)"


class Beside:
    """A process beside others. Even a few memories are searched as a large project, by the index. `written` counts passages."""

    def __init__(self, config: str) -> None:
        opening.SearchSizes = lambda: SearchSizes(all_up_to=5, sample=8, hits=10, beside_above=5)  # type: ignore[assignment,misc]
        self.alma = ALMA.from_config(config)
        self.written = 0
        self.warnings: list[str] = []
        watch = logging.Handler(logging.WARNING)
        watch.emit = lambda record: self.warnings.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("alma").addHandler(watch)
        self.search = open_search(self.alma, config)
        self._count(type(self.search))

    def learn(self, who: str, number: int) -> None:
        """Stores a fact that all of them look for."""
        self.alma.add_domain_knowledge("helena", "bridges", f"Bridge {number} of {who} has rivets")

    def fill(self, who: str, count: int) -> None:
        """Stores many facts in one call."""
        self.alma.add_many(
            DomainKnowledge(agent="helena", domain="bridges", fact=f"Bridge {number} of {who} has rivets")
            for number in range(count)
        )

    def purge(self, text: str) -> None:
        """Erases the fact with this text."""
        self.alma.purge([memory.id for memory in self.alma.list_memories("domain_knowledge", limit=1000) if memory.text == text])

    def found(self) -> int:
        """How many facts a retrieval finds, which first catches up."""
        return self.alma.retrieve(QUESTION, "helena", top_k=1000).total_items

    def work(self, who: str, count: int) -> str:
        """Learns and looks in turn; whatever was learned here before has to be found at once."""
        for number in range(count):
            self.learn(who, number)
            slice_ = self.alma.retrieve(f"Bridge {number} of {who} has rivets", "helena", top_k=1000)
            if f"Bridge {number} of {who} has rivets" not in {item.memory.text for item in slice_.recalled}:
                return f"bridge {number} was not found"
        return "all found"

    def held(self) -> tuple[int, int]:
        """How many memories the index alone names, and how many there are."""
        (question,) = HashEmbedder(self.alma.storage.fingerprint.dimension).embed([QUESTION])
        partitions = list(self.alma.storage.project("shop").partitions())
        named = self.search.search(question, partitions=partitions, limit=5000)
        return len(named), self.alma.get_stats().total

    def die_at(self, place: str, nth: int) -> None:
        """Has this process killed (-9) at the nth call of a method, written `module:Class.method`."""
        module, _, path = place.partition(":")
        owner, name = path.split(".")
        holder = getattr(import_module(module), owner)
        method, calls = getattr(holder, name), 0

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == nth:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **kwargs)

        setattr(holder, name, call)

    def _count(self, holder: Any) -> None:
        apply: Callable[..., None] = holder.apply

        def counted(search: Any, changes: Any, /) -> None:
            self.written += len(changes.passages)
            apply(search, changes)

        holder.apply = counted


def open_search(alma: ALMA, config: str) -> CandidateSearch:
    """Opens the search for the vectors of a memory a second time, beside that of the memory itself."""
    settings, store = load_settings(config), alma.storage
    project = store.project(alma.project_id)
    request = VectorsRequest(
        str(settings.storage_dir), store.id, project.name, store.fingerprint, settings.storage_options, project.head_at
    )
    if isinstance(store, SearchesVectors):
        search = store.candidate_search(request)
    else:
        make = candidates_named(settings.storage)
        search = None if make is None else make(request)
    assert search is not None
    return search
