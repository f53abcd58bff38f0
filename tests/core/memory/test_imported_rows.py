"""A line of an import is stored as it stands, so it has to be what ALMA itself would have stored of the memory that it is read as."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA, AlmaError, ValidationError
from alma.types import AntiPattern, Heuristic
from facade import ManualClock, NewPlace, OpenStore, refused
from lines import Line, lines_of, write_lines
from meetings import MEETING, notes

DOORS: dict[str, Callable[[ALMA, Path], object]] = {
    "error": lambda alma, file: alma.import_from(file),
    "skip": lambda alma, file: alma.import_from(file, on_conflict="skip"),
    "merge": lambda alma, file: alma.import_from(file, on_conflict="merge"),
    "untrusted": lambda alma, file: alma.import_untrusted(file),
}

OTHERWISE: dict[str, tuple[str, Callable[[Line], Any]]] = {
    "more successes than an outcome has": ("outcome", lambda line: line.update(successes=7.0)),
    "less than one trial": ("outcome", lambda line: line.update(trials=0.25)),
    "a success of no trial": ("outcome", lambda line: line.update(trials=None)),
    "a failure that counts as a success": ("outcome", lambda line: line["body"].update(outcome="failure")),
    "an unjudged one with a record": ("outcome", lambda line: line["body"].update(outcome="unverified")),
    "a verdict beside the verdict": (
        "outcome",
        lambda line: line["body"].update({"success": line["body"].pop("outcome") == "success"}),
    ),
    "a vector of another program": ("outcome", lambda line: line["body"].update(embedding=[0.1])),
    "a duration as a text": ("outcome", lambda line: line["body"].update(duration_ms="5")),
    "a duration that is true": ("outcome", lambda line: line["body"].update(duration_ms=True)),
    "a half success of a heuristic": ("heuristic", lambda line: line.update(successes=0.5, trials=1.0)),
    "more successes than trials": ("heuristic", lambda line: line.update(successes=4.0, trials=3.0)),
    "successes of nothing": ("heuristic", lambda line: line.update(successes=1.0, trials=0.0)),
    "a heuristic without a record": ("heuristic", lambda line: line.update(successes=None, trials=None)),
    "trials beyond counting": ("heuristic", lambda line: line.update(trials=1e300)),
    "half a failure": ("anti_pattern", lambda line: line.update(trials=1.5)),
    "a fact with a record": ("domain_knowledge", lambda line: line.update(successes=1.0, trials=1.0)),
    "a preference with a record": ("user_preference", lambda line: line.update(trials=2.0)),
    "a note with a record": ("meeting_note", lambda line: line.update(successes=3.0)),
    "a note that was seen before it was written": ("meeting_note", lambda line: line.update(seen_at="2001-01-01T00:00:00Z")),
    "a turn as a mapping": (
        "conversation",
        lambda line: line["body"].update(
            turns=[dict(zip(("speaker", "text", "is_own"), turn, strict=True)) for turn in line["body"]["turns"]]
        ),
    ),
}


def filled(alma: ALMA) -> ALMA:
    """A memory of each kind."""
    alma.register_memory_type(MEETING)
    alma.add("meeting_note", agent="dev", **notes())
    alma.learn("dev", "Deploy the shop", "success", "by hand", duration_ms=5)
    alma.learn("dev", "Deploy the shop", "partial", "by a script", metadata={"deep": [1, 2.5, {"a": None}]})
    alma.learn("dev", "Deploy the shop", "unverified", "by hand")
    alma.add_heuristic("dev", "Deploying", "Blue-green")
    alma.add_many([Heuristic(agent="dev", condition="Deploys", strategy="Canary", occurrence_count=3, success_count=2)])
    alma.add_anti_pattern("dev", "sleep()", "flaky", "wait for the port")
    alma.add_domain_knowledge("dev", "shop", "It runs on port 8123")
    alma.add_user_preference("maria", "tone", "Short", agent="dev")
    alma.add_conversation([{"role": "user", "content": "We deploy by helm."}], "dev", "s1")
    return alma


@pytest.fixture(scope="module")
def whole(new_place: NewPlace) -> bytes:
    file = io.BytesIO()
    with new_place().open(clock=ManualClock()) as alma:
        filled(alma).export(file)
    return file.getvalue()


@pytest.fixture
def file(whole: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole)
    return path


@pytest.fixture
def empty(open_store: OpenStore) -> ALMA:
    return open_store("empty", project_id="elsewhere")


def spoilt(file: Path, kind: str, spoil: Callable[[Line], Any]) -> Path:
    lines = lines_of(file)
    spoil(next(line for line in lines if line.get("type") == "memory" and line["kind"] == kind))
    return write_lines(file, lines)


@pytest.mark.parametrize("door", DOORS)
def test_what_alma_stored_comes_through_each_door(empty: ALMA, file: Path, door: str) -> None:
    DOORS[door](empty, file)
    assert "by hand" in str(empty.retrieve("Deploy the shop", "dev"))
    assert empty.verify().ok


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("kind", "spoil"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_line_that_is_stored_otherwise_is_refused_at_each_door(
    empty: ALMA, file: Path, door: str, kind: str, spoil: Callable[[Line], Any]
) -> None:
    with refused(empty, ValidationError, "line .*(not as ALMA keeps it|occurrence_count|success_count)"):
        DOORS[door](empty, spoilt(file, kind, spoil))


@pytest.mark.parametrize(("successes", "trials"), [(2, 1), (1, 0), (10**6, 1)])
def test_more_successes_than_trials_are_refused_of_a_caller_too(empty: ALMA, successes: int, trials: int) -> None:
    given_counts = Heuristic(agent="dev", condition="c", strategy="s", occurrence_count=trials, success_count=successes)
    with refused(empty, ValidationError, "success_count is"):
        empty.add_many([given_counts])


def test_an_anti_pattern_may_have_worked_more_often_than_it_failed(empty: ALMA) -> None:
    empty.add_many([AntiPattern(agent="dev", pattern="sleep()", why_bad="flaky", occurrence_count=1, success_count=5)])
    assert empty.retrieve("sleep()", "dev").anti_patterns[0].success_count == 5


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(inner, (*path, key))
    if path:
        yield path


ODD = [
    None,
    True,
    0,
    -1,
    2.5,
    1e6,
    1e300,
    10**400,
    "",
    " x",
    "x",
    "SUCCESS",
    [],
    {},
    ["x"],
    {"a": 1},
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_a_line_it_is_refused_or_read(new_place: NewPlace, whole: bytes, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in whole.splitlines()]
    number = data.draw(st.integers(1, len(lines) - 2))
    *path, last = data.draw(st.sampled_from(list(places_in(lines[number]))))
    inner = lines[number]
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(st.sampled_from(ODD))
    place = new_place()
    file = write_lines(Path(place.folder, "odd.jsonl"), lines)
    with place.open() as alma:
        try:
            alma.import_from(file)
        except AlmaError:
            return
        alma.retrieve("Deploy the shop", "dev").to_prompt()
        alma.wakeup("dev")
        alma.strategies("Deploy the shop", "dev")
        alma.overview()
        assert alma.verify().ok
