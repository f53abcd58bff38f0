"""Whatever a caller gives for an argument, the call does its work or raises an error of ALMA's own: short, and with nothing changed.

A flag takes `True`, `False` and, where it may be left open, `None`: nothing else stands for either.
"""

import asyncio
import functools
import inspect
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA, AlmaError, AsyncALMA, CustomMemoryType, Episode, MemorySlice, ValidationError
from facade import StoredIn
from old_memory import OLD_MEMORY

LONGEST_MESSAGE = 1_500
OPENING = frozenset({"open", "from_config", "quickstart", "close"})
"""Methods that open and close stores: those below have tests of their own."""


class Hostile:
    """Answers nothing that is asked of it."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("no answer")

    __bool__ = __eq__ = __repr__ = __str__ = __hash__ = __len__ = __index__ = __float__ = _refuse


def _nested(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


DEEP = _nested(10_000)
ITSELF: list[Any] = []
ITSELF.append(ITSELF)

ODD: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "zero": 0,
    "one": 1,
    "the word false": "false",
    "minus one": -1,
    "a number beyond all digits": 10**5000,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "an empty text": "",
    "some words": "some words",
    "NUL": "a\0b",
    "a lone surrogate": "a\ud800",
    "a huge text": "word " * 200_000,
    "bytes": b"bytes",
    "a deep list": DEEP,
    "a list that holds itself": ITSELF,
    "a huge list": ["x" * 1_000] * 1_000,
    "a mapping of a deep list": {"a": DEEP, "similarity": DEEP},
    "a mapping by objects": {object(): 1},
    "an array": np.array([1, 2]),
    "an array of no dimension": np.array(1),
    "an empty array": np.array([]),
    "an array of texts": np.array(["a", "b"]),
    "a flag of numpy": np.bool_(False),
    "a hostile object": Hostile(),
    "a list of a hostile object": [Hostile()],
    "a mapping of a hostile object": {"a": Hostile(), "similarity": Hostile()},
    "a time": datetime(2026, 1, 1),  # noqa: DTZ001 - naive is meant
    "a duration": timedelta(days=1),
    "a generator": None,
}


def _odd(name: str) -> Any:
    return (number for number in range(3)) if name == "a generator" else ODD[name]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(), max_size=20)
    | st.text(alphabet=st.characters(categories=["Cs", "Cc", "Cf"]), max_size=5)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.sampled_from([1j, object(), ..., range(3), int | None, Path("x"), memoryview(b"x"), frozenset({1})])
)
values = (
    st.sampled_from(list(ODD)).map(_odd)
    | scalars
    | st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3))
    | st.tuples(scalars)
)


@dataclass
class Shop:
    """A store to call, and what it takes to call it well. `prepared` is used up by a call that succeeds."""

    alma: ALMA
    folder: Path
    prepared: dict[str, Any] = field(default_factory=dict)

    def arguments(self, name: str) -> dict[str, Any]:
        if name not in self.prepared:
            self.prepared[name] = self._fresh(name)
        return dict(self.prepared[name])

    def _fresh(self, name: str) -> dict[str, Any]:
        alma = self.alma
        memory = alma.learn(agent="helena", task="Deploy the service", outcome="success", strategy_used="blue-green").id
        episode = self._episode_for(name)
        kept = io.BytesIO()
        alma.for_project("other").export(kept)
        needed: dict[str, dict[str, Any]] = {
            "for_project": {"project_id": "other"},
            "before_close": {"call": list},
            "retrieve": {"task": "Deploy", "agent": "helena"},
            "explain_retrieval": {"query": "Deploy", "memory_id": memory, "agent": "helena"},
            "learn": {"agent": "helena", "task": "Deploy again", "outcome": "success"},
            "learn_many": {"items": [{"agent": "helena", "task": "Deploy", "outcome": True}]},
            "add_user_preference": {"user_id": "u", "category": "c", "preference": "p"},
            "add_domain_knowledge": {"agent": "helena", "domain": "d", "fact": "f"},
            "add_preference": {"user_id": "u", "category": "c", "preference": "p"},
            "add_knowledge": {"agent": "helena", "domain": "d", "fact": "f"},
            "add_conversation": {"messages": [("user", "hello")], "agent": "helena", "session_id": "s"},
            "add_anti_pattern": {"agent": "helena", "pattern": "p", "why_bad": "w"},
            "add_heuristic": {"agent": "helena", "condition": "c", "strategy": "s"},
            "add": {"kind": "heuristic", "agent": "helena", "condition": "c", "strategy": "s"},
            "register_memory_type": {"kind": CustomMemoryType("note", {"title": str, "count": int | None}, ["title"])},
            "add_many": {"memories": []},
            "edit": {"memory": alma.add_domain_knowledge("helena", "d", "f"), "fact": "g"} if name == "edit" else {},
            "provenance": {"memory_id": memory},
            "record_usage": {"retrieved_memory_ids": [memory], "used_memory_ids": [memory], "agent": "helena"},
            "record_feedback": {"memory_id": memory, "signal": "used", "agent": "helena"},
            "episode": {"agent": "helena", "task": "Deploy"},
            "resume_episode": {"episode_id": episode},
            "settle": {"episode_id": episode, "outcome": "failure"},
            "strategies": {"agent": "helena"},
            "outcomes_behind": {"memory_id": memory},
            "check": {"agent": "helena", "action": "Deploy"},
            "assess": {"strategy": "blue-green", "context": "Deploy", "agent": "helena"},
            "consolidate": {"agent": "helena"},
            "reflect": {"agent": "helena"},
            "playbook": {"agent": "helena"},
            "get_episode": {"episode_id": episode},
            "get": {"memory_id": memory, "agent": "helena"},
            "history": {"memory_id": memory},
            "undo": {"to": alma.get_stats().journal_records},
            "undo_preview": {"to": 0},
            "forget": {"agent": "nobody"},
            "forget_user": {"user_id": "u"},
            "purge": {"memory_ids": []},
            "quarantined": {},
            "release_quarantined": {"memory_ids": []},
            "export": {"target": io.BytesIO()},
            "backup": {"path": self.folder / "backup.db", "force": True},
            "migrate": {"to": str(self.folder / f"moved-{len(list(self.folder.iterdir()))}.db")},
            "import_from": {"source": io.BytesIO(kept.getvalue()), "on_conflict": "skip"},
            "import_alma_memory": {"source": OLD_MEMORY, "project": "blog"},
            "import_untrusted": {"source": io.BytesIO(kept.getvalue())},
            "reindex": {"embedder": "hash"},
            "remembers": {"agent": "helena"},
            "get_proactive_suggestions": {"current_context": "Deploy", "agent": "helena"},
            "learn_from_spans": {"spans": {"resourceSpans": []}},
            "checkpoint": {"workflow_id": "w", "state": {"step": 1}},
            "resume": {"workflow_id": "w"},
            "merge_states": {"workflow_id": "w", "states": [{"a": 1}, {"a": 2}]},
            "link_artifact": {"workflow_id": "w", "artifact_type": "code", "ref": "a.py"},
            "get_artifacts": {"workflow_id": "w"},
            "learn_from_workflow": {"workflow_id": "w", "agent": "helena", "result": "success", "summary": "Deployed"},
            "wakeup": {"agent": "helena"},
            "retrieve_scoped": {"query": "Deploy", "scope": "agent_only", "agent": "helena", "workflow_id": "w"},
        }
        return needed.get(name, {})

    def _episode_for(self, name: str) -> str:
        """The id of an episode as the method needs it. To begin and end one takes longer than most calls, so the others get none."""
        if name not in ("resume_episode", "settle", "get_episode"):
            return ""
        made = self.alma.episode(agent="helena", task="Deploy the shop")
        if name == "resume_episode":
            made.suspend()
        else:
            made.succeed()
        return made.id


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("odd")
    with ALMA.open(folder / "store", project_id="shop", embedding_provider="hash", **stored_in(folder / "store")) as alma:
        yield Shop(alma, folder)
        assert alma.verify().ok  # every row is as the journal has it: nothing was changed without a record


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text may be taken for the path of a file or folder: it lies in the test's own."""
    monkeypatch.chdir(tmp_path)


def _places(cls: type) -> list[tuple[str, str]]:
    """The methods of a class of ours and their parameters."""
    return [
        (name, parameter.name)
        for name, method in inspect.getmembers(cls, inspect.isroutine)
        if not name.startswith("_") and str(method.__module__).startswith("alma") and name not in OPENING
        for parameter in inspect.signature(method).parameters.values()
        if parameter.name not in ("self", "cls")
    ]


def _state(alma: ALMA) -> int:
    """The number of calls that changed anything."""
    return alma.get_stats().journal_records


def _attempt(call: Callable[[], object]) -> str:
    """Makes the call, and returns the message of its refusal: an error of ALMA's own that does not grow with what was given."""
    try:
        call()
    except AlmaError as error:
        message = str(error)
    else:
        return ""
    assert len(message) <= LONGEST_MESSAGE
    return message


def _attempt_with(method: Callable[..., object], arguments: dict[str, Any], name: str, value: Any) -> bool:
    """Makes a call with a value for one argument. Returns whether it was refused; a flag refuses all that is no flag."""
    refusal = _attempt(lambda: method(**{**arguments, name: value}))
    if allowed := _allowed_flags(method, name):
        assert refusal.startswith(f"{name} must be True") == (type(value) not in allowed), refusal
    return bool(refusal)


def _allowed_flags(method: Callable[..., object], name: str) -> set[type]:
    """Returns the types that a flag may be of; none for an argument that is no flag."""
    parameter = inspect.signature(method).parameters.get(name)
    kinds = {part.strip() for part in inspect.formatannotation(parameter.annotation).split("|")} if parameter else set()
    return {{"bool": bool, "None": type(None)}[kind] for kind in kinds} if "bool" in kinds <= {"bool", "None"} else set()


def _call(shop: Shop, method: str, parameter: str, value: Any) -> None:
    arguments = shop.arguments(method)
    before = _state(shop.alma)
    name = "condition" if parameter == "fields" else parameter
    if _attempt_with(getattr(shop.alma, method), arguments, name, value):
        assert _state(shop.alma) == before
    else:
        shop.prepared.pop(method)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "parameter"), _places(ALMA))
def test_a_method_of_alma_takes_an_odd_argument_or_refuses_it_and_changes_nothing(
    shop: Shop, method: str, parameter: str
) -> None:
    for name in ODD:
        _call(shop, method, parameter, _odd(name))


@pytest.mark.slow
@settings(max_examples=200)
@given(place=st.sampled_from(_places(ALMA)), value=values)
def test_any_value_for_any_argument_is_taken_or_refused(shop: Shop, place: tuple[str, str], value: Any) -> None:
    _call(shop, *place, value)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "parameter"), _places(Episode))
def test_a_method_of_an_episode_takes_an_odd_argument_or_refuses_it_and_the_episode_goes_on(
    shop: Shop, method: str, parameter: str
) -> None:
    needed = {"step": {"action": "kubectl apply"}, "observe": {"text": "done"}}.get(method, {})
    episode = None
    for name in ODD:
        episode = episode or shop.alma.episode(agent="helena", task="Deploy the shop")
        before = _state(shop.alma)
        if _attempt_with(getattr(episode, method), needed, parameter, _odd(name)):
            assert _state(shop.alma) == before
            assert (episode.is_open, episode.steps) == (True, ())
        else:
            episode = None
    if episode is not None:
        episode.succeed()


@functools.wraps(ALMA.open)
def _opened_and_closed(**arguments: Any) -> None:
    ALMA.open(**arguments).close()


@pytest.mark.parametrize("parameter", list(inspect.signature(ALMA.open).parameters))
def test_opening_takes_an_odd_argument_or_refuses_it(tmp_path: Path, parameter: str) -> None:
    for number, name in enumerate(ODD):
        arguments = {"storage_dir": tmp_path / str(number), "project_id": "shop", "embedding_provider": "hash"}
        _attempt_with(_opened_and_closed, arguments, parameter, _odd(name))


@pytest.mark.parametrize("parameter", ["path", "clock"])
def test_opening_by_a_configuration_takes_an_odd_argument_or_refuses_it(tmp_path: Path, parameter: str) -> None:
    (tmp_path / "config.yaml").write_text("project_id: shop\nembedding_provider: hash\n")
    for name in ODD:
        _attempt(lambda: ALMA.from_config(**{"path": tmp_path / "config.yaml", parameter: _odd(name)}).close())  # noqa: B023


@pytest.mark.parametrize(("method", "parameter"), _places(MemorySlice))
def test_a_slice_takes_an_odd_argument_or_refuses_it(shop: Shop, method: str, parameter: str) -> None:
    shop.arguments("retrieve")
    memories = shop.alma.retrieve(task="Deploy the service", agent="helena")
    for name in ODD:
        _attempt_with(getattr(memories, method), {}, parameter, _odd(name))


@pytest.mark.parametrize("parameter", ["name", "fields", "embedding_fields", "scoring_weights"])
def test_a_kind_is_defined_by_an_odd_argument_or_refuses_it(parameter: str) -> None:
    needed: dict[str, Any] = {"name": "note", "fields": {"title": str}, "embedding_fields": ["title"]}
    for name in ODD:
        odd = _odd(name)
        _attempt(lambda: CustomMemoryType(**{**needed, parameter: odd}))  # noqa: B023 - called at once
        _attempt(lambda: CustomMemoryType("note", {"title": str, "other": odd}, ["title"], {"recency": odd}))  # noqa: B023


@pytest.mark.parametrize("parameter", ["agent", "task", "outcome", "strategy_used", "metadata", "timestamp", "idempotency_key"])
def test_an_item_of_many_with_an_odd_value_is_taken_or_refused(shop: Shop, parameter: str) -> None:
    for name in ODD:
        item = {"agent": "helena", "task": "Deploy", "outcome": True, parameter: _odd(name)}
        before = _state(shop.alma)
        if _attempt(lambda: shop.alma.learn_many([item])):  # noqa: B023 - called at once
            assert _state(shop.alma) == before


@pytest.mark.parametrize("block", ["agents", "forgetting", "maintenance"])
def test_a_block_of_settings_with_an_odd_value_is_taken_or_refused(tmp_path: Path, block: str) -> None:
    keys = {"agents": ["helena"], "forgetting": ["outcome", "kinds"], "maintenance": ["every"]}[block]
    for key in keys:
        for number, name in enumerate(ODD):
            given_block: dict[str, Any] = {block: {key: _odd(name)}}
            _attempt(
                lambda: ALMA.open(
                    tmp_path / str(number),  # noqa: B023 - called at once
                    project_id="shop",
                    embedding_provider="hash",
                    **given_block,  # noqa: B023
                ).close()
            )


@pytest.mark.parametrize("value", ["false", 1, np.bool_(True)])
def test_a_flag_given_by_its_place_is_checked_too(alma: ALMA, value: Any) -> None:
    with pytest.raises(ValidationError, match="dry_run must be True or False"):
        alma.maintain(value)
    with pytest.raises(ValidationError, match="ok must be True, False or None"), alma.episode("helena", "Deploy it") as episode:
        episode.step("kubectl apply", value)


def test_purge_false_as_text_erases_nothing(alma: ALMA) -> None:
    learned = alma.learn("helena", "Deploy the auth service", "success")
    with pytest.raises(ValidationError, match="purge must be True or False, not 'false'"):
        alma.forget("helena", memory_ids=[learned.id], purge="false")  # type: ignore[arg-type]
    assert alma.get(learned.id) == learned


def test_a_flag_of_the_asynchronous_facade_is_checked_too(alma: ALMA) -> None:
    learned = alma.learn("helena", "Deploy the auth service", "success")

    async def forget() -> None:
        async with AsyncALMA(alma) as mirror:
            await mirror.forget("helena", memory_ids=[learned.id], dry_run="no")  # type: ignore[arg-type]

    with pytest.raises(ValidationError, match="dry_run must be True or False, not 'no'"):
        asyncio.run(forget())
