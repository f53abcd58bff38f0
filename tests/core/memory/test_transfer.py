"""Export and import: nothing is lost on the way, and a file that is not sound leaves nothing behind."""

import hashlib
import io
import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA, AlmaError, ConflictError, CustomMemoryType, Draft, Outcome, Passage, StorageError, ValidationError
from alma.embedding import HashEmbedder
from alma.errors import CorruptStoreError
from alma.storage.relational.logical import NO_USAGE
from alma.types import Verdict
from facade import ManualClock, NewPlace, OpenStore, StoredIn, held, refused
from lines import Line, lines_of, write_lines
from meetings import FIELDS, MEETING, notes
from memory_strategies import memories


def fill(alma: ALMA, clock: ManualClock) -> ALMA:
    """Something of everything."""
    alma.register_memory_type(MEETING)
    note = alma.add("meeting_note", agent="dev", metadata={"deep": {"list": [1, 2.5, None, "é🙂\u2028"]}}, **notes())
    clock.advance(microseconds=1)
    failed = alma.learn("dev", "Deploy", "failure", "by hand", error_message="E: it\n\tbroke", duration_ms=5)
    forgotten = alma.add_domain_knowledge("dev", "auth", "Tokens last 24 hours. " * 100)
    alma.add_heuristic("eve", "Deploying", "Blue-green")
    alma.add_anti_pattern("eve", "sleep()", "flaky")
    alma.add_user_preference("maria", "tone", "Short", agent="dev")
    turns = (
        Passage(text="Hello", speaker="maria", position=3, time=clock.now),
        Passage(text="Hi", speaker="bot", is_own=False, position=7),
    )
    alma.add_many([Draft(memory=Outcome(agent="dev", task_description="A talk", outcome=Verdict.PARTIAL), passages=turns)])
    alma.record_usage([note.id, failed.id], [note.id], agent="dev")
    clock.advance(days=1)
    alma.forget(memory_ids=[forgotten.id])
    with alma.episode(agent="dev", task="Fix the build") as episode:
        episode.step("make", ok=False, error="no rule")
        episode.succeed(strategy="Clean first")
    return alma


@pytest.fixture
def full(open_store: OpenStore, clock: ManualClock) -> ALMA:
    """A store with something of everything."""
    return fill(open_store("full"), clock)


@pytest.fixture(scope="module")
def whole(new_place: NewPlace) -> bytes:
    """The export of such a store."""
    clock, file = ManualClock(), io.BytesIO()
    with new_place().open(clock=clock) as alma:
        fill(alma, clock).export(file)
    return file.getvalue()


@pytest.fixture
def file(whole: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole)
    return path


@pytest.fixture
def empty(open_store: OpenStore) -> ALMA:
    return open_store("empty", project_id="elsewhere")


@pytest.mark.parametrize("vectors", [False, True])
def test_an_empty_store_that_imports_an_export_holds_the_same(full: ALMA, empty: ALMA, tmp_path: Path, vectors: bool) -> None:
    exported = full.export(tmp_path / "x.jsonl", vectors=vectors)
    report = empty.import_from(tmp_path / "x.jsonl")

    assert empty.content_hash() == full.content_hash()
    assert report.stored == exported.counts
    assert (exported.counts.memories, exported.counts.archived) == (9, 1)
    assert empty.verify().ok
    for query, agent in (("invoices", "dev"), ("Deploying", "eve"), ("Tokens", "dev"), ("Hello", "dev")):
        here, there = (alma.retrieve(query, agent=agent, user_id="maria") for alma in (full, empty))
        assert [(item.memory.id, item.score, item.tag) for item in there.recalled] == [
            (item.memory.id, item.score, item.tag) for item in here.recalled
        ]


def test_exporting_again_gives_the_same_lines_but_for_the_first_and_the_last(empty: ALMA, file: Path, tmp_path: Path) -> None:
    empty.import_from(file)
    empty.export(tmp_path / "again.jsonl")

    assert lines_of(tmp_path / "again.jsonl")[1:-1] == lines_of(file)[1:-1]


def test_an_import_can_be_undone(empty: ALMA, file: Path) -> None:
    before = empty.content_hash()
    empty.import_from(file)
    empty.undo(to=0)

    assert empty.content_hash() == before
    assert empty.verify().ok


def test_a_file_says_what_it_is(full: ALMA, tmp_path: Path, clock: ManualClock) -> None:
    full.export(file := tmp_path / "full.jsonl")
    first, *rest, last = lines_of(file)

    assert (first["format"], first["version"], first["project"], first["agent"]) == ("alma-export", 3, "shop", None)
    assert first["counts"] == {"memories": 9, "archived": 1, "records": 4, "evidence": 0}
    assert first["embedder"]["model"] == "hash"
    assert datetime.fromisoformat(first["exported_at"]) == clock.now
    assert last["lines"] == len(rest) + 1
    body = b"".join(file.read_bytes().splitlines(keepends=True)[:-1])
    assert last["sha256"] == hashlib.sha256(body).hexdigest()
    assert file.stat().st_mode & 0o077 == 0


def test_a_project_that_was_never_written_to_is_a_file_too(empty: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    assert empty.export(tmp_path / "x.jsonl").counts.memories == 0
    assert open_store("third").import_from(tmp_path / "x.jsonl").stored.memories == 0
    assert empty.get_stats().journal_records == 0


def test_one_agent_alone_takes_what_is_its_own(full: ALMA, empty: ALMA, tmp_path: Path) -> None:
    report = full.export(tmp_path / "eve.jsonl", agent="eve")
    empty.import_from(tmp_path / "eve.jsonl")

    assert report.counts.memories == 2
    assert {memory.agent for memory in empty.list_memories()} == {"eve"}
    assert empty.memory_types() == full.memory_types()


def test_the_file_of_one_agent_says_nothing_of_another(full: ALMA, empty: ALMA) -> None:
    for agent, episode_id, task in (("eve", "a", "Water the plants"), ("zoe", "b/1", "Paint the fence"), ("zoe", "a/b", "Mow")):
        with full.episode(agent=agent, task=task, episode_id=episode_id) as episode:
            episode.step(f"{task} by hand", ok=None)
            episode.succeed(strategy=f"{task} early")
    full.export(file := io.BytesIO(), agent="eve")
    written = file.getvalue()
    file.seek(0)
    report = empty.import_from(file)

    assert written.count(b"Water the plants") >= 4
    for word in (b"dev", b"zoe", b"maria", b"Fix the build", b"Clean first", b"Paint", b"Mow"):
        assert word not in written
    assert report.stored.records == 4
    assert [found.task for found in empty.recent_episodes()] == ["Water the plants"]
    assert empty.get_episode("a") == full.get_episode("a").model_copy(update={"project_id": "elsewhere"})
    assert empty.verify().ok


def test_an_open_episode_comes_along_without_its_holder(full: ALMA, empty: ALMA, tmp_path: Path) -> None:
    opened = full.episode(agent="dev", task="Wait for Ann")
    full.export(tmp_path / "x.jsonl")
    assert b"episode_lease" not in (tmp_path / "x.jsonl").read_bytes()
    empty.import_from(tmp_path / "x.jsonl")

    with empty.resume_episode(opened.id) as resumed:
        resumed.succeed()
    assert empty.get_episode(opened.id).outcome == "success"
    assert full.get_episode(opened.id).status == "open"
    opened.abandon()


def test_an_episode_that_cannot_be_read_is_told_and_keeps_nobody_from_opening_the_project(open_store: OpenStore) -> None:
    alma = open_store()
    alma.episode("dev", "Wait for Ann", episode_id="y")
    with alma.storage.project("shop").write(actor="", operation="harm", at=1) as write:
        write.put_record("episode", "x", {}, version=0)
        write.put_record("episode_lease", "y", {"holder": "0" * 32, "at": "noon"}, version=1)

    opened = open_store()
    with pytest.raises(CorruptStoreError, match="episode 'x' is not readable: agent: "):
        opened.get_episode("x")
    with pytest.raises(CorruptStoreError, match="the lease of episode 'y' is not readable: at: "):
        opened.get_episode("y")
    with pytest.raises(CorruptStoreError):
        opened.recent_episodes()
    assert opened.learn("dev", "Go on", "success")


@pytest.mark.parametrize(
    "opened", [io.BytesIO, lambda: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n"), io.StringIO]
)
def test_an_open_file_does_as_well_as_a_path(full: ALMA, empty: ALMA, opened: Callable[[], Any]) -> None:
    file = opened()
    full.export(file)
    file.seek(0)
    empty.import_from(file)

    assert empty.content_hash() == full.content_hash()


def test_progress_is_told_from_the_first_to_the_last(full: ALMA, empty: ALMA, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    full.export(tmp_path / "x.jsonl", progress=lambda done, total: told.append((done, total)))
    assert told == [(9, 9)]
    empty.import_from(tmp_path / "x.jsonl", progress=lambda done, total: told.append((done, total)))
    assert told[1:] == [(18, 18)]


def test_given_vectors_spare_the_model_and_without_them_each_text_is_embedded_once(
    full: ALMA, open_store: OpenStore, tmp_path: Path
) -> None:
    class Counting(HashEmbedder):
        texts = 0

        def embed(self, texts: Any, /) -> Any:
            Counting.texts += len(texts)
            return super().embed(texts)

    strategies = 3  # by which evidence is compared; a file has the vectors of passages only
    for vectors, expected in ((True, strategies), (False, full.verify().vectors)):
        full.export(tmp_path / "x.jsonl", vectors=vectors)
        Counting.texts = 0
        open_store(f"counting-{vectors}", embedding_provider=Counting()).import_from(tmp_path / "x.jsonl")
        assert Counting.texts == expected


def test_vectors_of_another_embedder_are_not_taken(full: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    full.export(tmp_path / "x.jsonl", vectors=True)
    other = open_store("other", embedding_provider="hash", embedding_dim=64)
    other.import_from(tmp_path / "x.jsonl")

    assert other.verify().ok
    assert other.retrieve("invoices", agent="dev").total_items
    assert other.content_hash() == full.content_hash()


def test_a_failed_export_leaves_no_file_and_the_old_one_as_it_was(full: ALMA, tmp_path: Path) -> None:
    target = tmp_path / "x.jsonl"
    target.write_text("old", encoding="utf-8")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        full.export(target, progress=stop)
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir() if "x.jsonl" in path.name] == ["x.jsonl"]
    with pytest.raises(StorageError, match="cannot be written"):
        full.export(tmp_path / "no folder" / "x.jsonl")
    full.learn("dev", "Go on", "success")


@pytest.mark.parametrize("target", [None, 5, ["x"]])
def test_what_is_no_file_is_told(full: ALMA, target: Any) -> None:
    with pytest.raises(ValidationError, match="a path or an open file"):
        full.export(target)
    with pytest.raises(ValidationError, match="a path or an open file"):
        full.import_from(target)


def test_a_file_that_is_not_there_is_told(empty: ALMA, tmp_path: Path) -> None:
    with refused(empty, StorageError, r"gone\.jsonl cannot be read: No such file"):
        empty.import_from(tmp_path / "gone.jsonl")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_cut_anywhere_is_refused_and_nothing_is_stored(empty: ALMA, whole: bytes, data: st.DataObject) -> None:
    cut = io.BytesIO(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with refused(empty, ValidationError, "nothing was stored"):
        empty.import_from(cut)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_with_one_byte_changed_is_refused_and_nothing_is_stored(empty: ALMA, whole: bytes, data: st.DataObject) -> None:
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]))
    with refused(empty, ValidationError):
        empty.import_from(io.BytesIO(changed))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "no export of ALMA"),
        (b"\n", "no export of ALMA"),
        (b"[]\n", "no export of ALMA"),
        (b'{"a": 1}\n', "no export of ALMA"),
        (b"SQLite format 3\x00" + bytes(100), "cut short"),
        (b"\xff\xfe\n", "no export of ALMA"),
        (b"[" * 100_000 + b"\n", "no export of ALMA"),
        (b'{"format": "alma-export", "version": 4}\n', "version 4 .*reads version 3; upgrade"),
        (b'{"format": "alma-export", "version": "1; DROP"}\n', "version '1; DROP'"),
        (b'{"format": "alma-export", "version": 1}\n', "version 1 .*open the store that it came from .*export it again"),
        (b'{"format": "alma-export", "version": 2}\n', "line 1: "),
    ],
)
def test_a_foreign_file_is_told_from_an_export(empty: ALMA, content: bytes, match: str) -> None:
    with refused(empty, ValidationError, match):
        empty.import_from(io.BytesIO(content))


def a_memory(lines: list[Line], kind: str = "outcome") -> Line:
    return next(line for line in lines if line.get("type") == "memory" and line["kind"] == kind)


def twice(lines: list[Line]) -> None:
    lines.insert(-1, a_memory(lines))


def kind_without_definition(lines: list[Line]) -> None:
    lines.remove(next(line for line in lines if line.get("kind") == "memory_type"))


def definition_of_another_name(lines: list[Line]) -> None:
    lines[1]["key"] = "other"


def broken_definition(lines: list[Line]) -> None:
    lines[1]["body"]["fields"] = {"x": "__import__('os')"}


def one_line_less(lines: list[Line]) -> None:
    lines.remove(a_memory(lines))


def something_after_the_end(lines: list[Line]) -> None:
    lines.insert(3, {"type": "end", "lines": 3, "sha256": ""})


def a_record(lines: list[Line], kind: str) -> Line:
    return next(line for line in lines if line.get("type") == "record" and line["kind"] == kind)


HOSTILE: dict[str, tuple[Callable[[list[Line]], Any], str]] = {
    "the same memory twice": (twice, "is there twice"),
    "a kind without definition": (kind_without_definition, "no definition of the kind 'meeting_note'"),
    "a definition of another name": (definition_of_another_name, "is one of 'meeting_note'"),
    "a definition that is none": (broken_definition, "no type that a field may have"),
    "a memory less": (one_line_less, "does not hold what its first line says"),
    "an end in the middle": (something_after_the_end, "closing line"),
    "an unknown type of line": (lambda lines: lines[1].update(type="command"), "line 2: "),
    "an unknown key": (lambda lines: a_memory(lines).update(colour="red"), "colour"),
    "an unknown field in the body": (lambda lines: a_memory(lines)["body"].update(colour="red"), "colour"),
    "a column in the body": (lambda lines: a_memory(lines)["body"].update(id="x"), "no place for id"),
    "a project in the body": (lambda lines: a_memory(lines)["body"].update(project_id="other"), "no place for project_id"),
    "an empty id": (lambda lines: a_memory(lines).update(id=""), "id"),
    "an id with a line end": (lambda lines: a_memory(lines).update(id="a\nb"), "cannot be printed"),
    "a NUL in the task": (lambda lines: a_memory(lines)["body"].update(task_description="a\x00b"), "NUL"),
    "half a surrogate": (lambda lines: a_memory(lines)["body"].update(task_description="\ud800"), "line "),
    "an empty task": (lambda lines: a_memory(lines)["body"].update(task_description=" "), "task_description is empty"),
    "a task too long": (lambda lines: a_memory(lines)["body"].update(task_description="x" * 200_001), "200,001 characters"),
    "a verdict that is none": (lambda lines: a_memory(lines)["body"].update(outcome="great"), "outcome"),
    "no agent": (lambda lines: a_memory(lines).update(agent=""), "agent is missing"),
    "an agent with space around": (
        lambda lines: a_memory(lines).update(agent=" dev "),
        "agent of memory .* not as ALMA keeps it",
    ),
    "no user": (lambda lines: a_memory(lines, "user_preference")["body"].pop("user_id"), "user_id"),
    "a user that is a number": (lambda lines: a_memory(lines, "user_preference")["body"].update(user_id=5), "user_id"),
    "confidence beyond 1": (lambda lines: a_memory(lines).update(confidence=1.5), "confidence"),
    "confidence that is none": (lambda lines: a_memory(lines).update(confidence=float("nan")), "line "),
    "metadata that is none": (lambda lines: a_memory(lines)["body"].update(metadata={"x": float("nan")}), "line "),
    "metadata too deep": (
        lambda lines: a_memory(lines)["body"].update(metadata=json.loads('{"a":' * 150 + "1" + "}" * 150)),
        "line .*deep|recursion",
    ),
    "a time that is none": (lambda lines: a_memory(lines).update(created_at="soon"), "created_at"),
    "no passages": (lambda lines: a_memory(lines).update(passages=[]), "has no passage"),
    "two passages at one place": (
        lambda lines: a_memory(lines).update(passages=a_memory(lines)["passages"] * 2),
        "the same position",
    ),
    "an empty passage": (lambda lines: a_memory(lines)["passages"][0].update(text=" "), "passage"),
    "usage below 0": (
        lambda lines: a_memory(lines).update(usage={**NO_USAGE, "used": -1}),
        "used",
    ),
    "usage beyond counting": (
        lambda lines: a_memory(lines).update(usage={**NO_USAGE, "used": 2**70}),
        "used",
    ),
    "credit below 0": (
        lambda lines: a_memory(lines).update(usage={**NO_USAGE, "credited_trials": -0.5}),
        "credited_trials",
    ),
    "a field of the wrong type": (lambda lines: a_memory(lines, "meeting_note")["body"]["fields"].update(title=5), "title"),
    "a kind that is a path": (lambda lines: a_memory(lines).update(kind="../../etc/passwd"), "no definition of the kind"),
    "a record with a slash": (lambda lines: lines[2].update(kind="a/b"), "slash"),
    "a holder of an episode": (lambda lines: lines[2].update(kind="episode_lease", body={}), "says who holds an episode"),
    "a holder that is a path": (
        lambda lines: lines[2].update(kind="episode_lease", body={"holder": "../../x", "at": 1}),
        "says who holds an episode",
    ),
    "an episode of nothing": (lambda lines: a_record(lines, "episode").update(body={}), "none of an episode: agent"),
    "an episode of nobody": (lambda lines: a_record(lines, "episode")["body"].update(agent=" "), "agent is missing"),
    "an episode in no time": (
        lambda lines: a_record(lines, "episode")["body"].update(started_at=10**30),
        "none of an episode: started_at",
    ),
    "an episode that showed no pairs": (
        lambda lines: a_record(lines, "episode")["body"].update(shown=["x"]),
        "none of an episode: shown",
    ),
    "an episode with more to it": (
        lambda lines: a_record(lines, "episode")["body"].update(project_id="other"),
        "none of an episode: project_id",
    ),
    "a step of nothing": (lambda lines: a_record(lines, "episode_step").update(body={}), "none of an episode: action"),
    "a step without a number": (lambda lines: a_record(lines, "episode_step").update(key="x"), "episode is empty"),
    "a step that is number 0": (lambda lines: a_record(lines, "episode_step").update(key="x/0"), "a key that is none"),
    "an ending of nothing": (lambda lines: a_record(lines, "episode_end").update(body={}), "none of an episode: "),
    "an ending that is open": (
        lambda lines: a_record(lines, "episode_end")["body"].update(status="open"),
        "none of an episode: ",
    ),
    "an ending without a verdict": (
        lambda lines: a_record(lines, "episode_end")["body"].update(outcome=None),
        "none of an episode: outcome",
    ),
    "a vector that was not promised": (lambda lines: a_memory(lines)["passages"][0].update(vector="AAAA"), "should not have"),
    "promised vectors that are not there": (lambda lines: lines[0].update(has_vectors=True), "promises vectors"),
}


@pytest.mark.parametrize(("spoil", "match"), HOSTILE.values(), ids=HOSTILE)
def test_a_file_made_to_harm_is_refused_and_nothing_is_stored(
    empty: ALMA, file: Path, spoil: Callable[[list[Line]], Any], match: str
) -> None:
    lines = lines_of(file)
    spoil(lines)
    with refused(empty, ValidationError, match):
        empty.import_from(write_lines(file, lines))


@pytest.mark.parametrize("vector", ["", "AAAA", "not base64!", "AAA=", None])
def test_a_vector_that_is_none_is_refused(full: ALMA, empty: ALMA, tmp_path: Path, vector: str | None) -> None:
    full.export(tmp_path / "x.jsonl", vectors=True)
    lines = lines_of(tmp_path / "x.jsonl")
    a_memory(lines)["passages"][0]["vector"] = vector
    with refused(empty, ValidationError, "vector"):
        empty.import_from(write_lines(tmp_path / "x.jsonl", lines))


def test_what_is_there_already_is_a_conflict_and_nothing_is_stored(full: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    other, file = open_store("other"), tmp_path / "full.jsonl"
    full.export(file)
    other.import_from(file)
    extra = full.learn("dev", "One more", "success")
    full.export(file)

    with refused(other, ConflictError, "memory .*, memory .* and 4 more; nothing was stored. on_conflict='skip'"):
        other.import_from(file)
    report = other.import_from(file, on_conflict="skip")
    assert (report.stored.memories, report.skipped.memories, report.skipped.records) == (1, 9, 4)
    assert other.get(extra.id) == extra
    assert other.content_hash() == full.content_hash()
    assert other.verify().ok


def test_a_choice_that_there_is_not_is_told(empty: ALMA, file: Path) -> None:
    with refused(empty, ValidationError, "on_conflict is 'replace'; it is 'error' or 'skip'"):
        empty.import_from(file, on_conflict="replace")


def test_a_definition_that_has_grown_grows_here_and_one_that_does_not_fit_is_a_conflict(
    open_store: OpenStore, tmp_path: Path
) -> None:
    grown = CustomMemoryType("meeting_note", {**FIELDS, "mood": str | None}, ["summary", "action_items"])
    older, newer, other = open_store("older"), open_store("newer"), open_store("other")
    older.register_memory_type(MEETING)
    newer.register_memory_type(grown)
    made = newer.add("meeting_note", agent="dev", **notes(mood="glad"))
    newer.export(tmp_path / "x.jsonl")
    older.import_from(tmp_path / "x.jsonl")

    assert (older.memory_types()["meeting_note"], older.get(made.id).mood) == (grown, "glad")
    assert older.verify().ok
    other.register_memory_type(CustomMemoryType("meeting_note", {"summary": str}, ["summary"]))
    with refused(other, ConflictError, "embedding_fields"):
        other.import_from(tmp_path / "x.jsonl", on_conflict="skip")


def test_a_definition_in_its_former_form_is_read_used_and_grown(
    empty: ALMA, open_store: OpenStore, file: Path, tmp_path: Path
) -> None:
    lines = lines_of(file)
    a_record(lines, "memory_type")["body"]["fields"] = {
        "title": "str",
        "attendees": "list[str]",
        "summary": "str",
        "action_items": "list[str]",
        "date": "datetime",
        "room": "str | None",
    }
    empty.import_from(write_lines(file, lines))

    before = held(empty)
    assert empty.register_memory_type(MEETING) == MEETING == empty.memory_types()["meeting_note"]
    assert held(empty) == before
    assert [note.date for note in empty.list_memories("meeting_note")] == [MEETING.checked(notes())["date"]]
    with refused(empty, ValidationError, r"meeting_note\.title"):
        empty.add("meeting_note", agent="dev", **notes(title=5))
    grown = CustomMemoryType("meeting_note", {**FIELDS, "mood": str | None}, ["summary", "action_items"])
    assert empty.register_memory_type(grown) == grown
    assert empty.verify().ok
    empty.export(tmp_path / "again.jsonl")
    open_store("other").import_from(tmp_path / "again.jsonl")


def test_records_of_rules_come_along(empty: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store("giver")
    for _ in range(4):
        alma.learn("dev", "Deploy", "success", "by hand")
    (rule,) = alma.list_memories("heuristic")
    alma.forget(memory_ids=[rule.id])
    assert alma.export(tmp_path / "x.jsonl").counts.records == 1
    assert alma.export(io.BytesIO(), agent="eve").counts.records == 0
    assert empty.import_from(tmp_path / "x.jsonl").stored.records == 1
    assert empty.list_memories("heuristic") == []
    assert empty.import_from(tmp_path / "x.jsonl", on_conflict="skip").skipped.records == 1


def test_an_import_into_a_store_with_other_things_leaves_them(empty: ALMA, file: Path) -> None:
    kept = empty.learn("dev", "Something else", "success")
    empty.import_from(file)

    assert empty.get(kept.id) == kept
    assert len(empty.list_memories()) == 9
    assert empty.verify().ok


@pytest.mark.slow
def test_a_large_file_is_one_transaction_of_several_records(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("many"), open_store("others")
    alma.add_many(Outcome(agent="dev", task_description=f"Task {number}") for number in range(2_500))
    alma.export(tmp_path / "x.jsonl")
    other.import_from(tmp_path / "x.jsonl")

    assert other.get_stats().journal_records == 3
    assert other.content_hash() == alma.content_hash()
    assert other.verify().ok


@pytest.mark.slow
def test_an_import_that_fails_late_leaves_nothing(full: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("many"), open_store("others")
    alma.add_many(Outcome(agent=f"dev{number}", task_description=f"Task {number}") for number in range(1_500))
    alma.export(tmp_path / "x.jsonl")

    def stop(done: int, total: int) -> None:
        if done > 2_900:
            raise KeyboardInterrupt

    with refused(other, KeyboardInterrupt):
        other.import_from(tmp_path / "x.jsonl", progress=stop)
    assert other.verify().ok
    other.import_from(tmp_path / "x.jsonl")
    assert other.content_hash() == alma.content_hash()
    assert other.retrieve("Task 1234", agent="dev1234").total_items == 1


def test_what_is_stored_is_what_was_checked_though_the_file_changes_meanwhile(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("many"), open_store("others")
    alma.add_many(Outcome(agent="dev", task_description=f"Task {number:05}") for number in range(300))
    alma.export(file := tmp_path / "x.jsonl")

    def change(done: int, total: int) -> None:
        file.write_bytes(file.read_bytes().replace(b"Task 00299", b"Ttsk 00299"))

    other.import_from(file, progress=change)
    assert b"Ttsk 00299" in file.read_bytes()
    assert other.content_hash() == alma.content_hash()


def test_writes_meanwhile_are_not_in_the_file(full: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("one"), open_store("one")
    alma.add_many(Outcome(agent="dev", task_description=f"Task {number}") for number in range(250))

    report = alma.export(tmp_path / "x.jsonl", progress=lambda *_: other.learn("dev", "Late", "success"))
    assert report.counts.memories == 250
    assert "Late" not in (tmp_path / "x.jsonl").read_text(encoding="utf-8")


def test_while_progress_is_told_the_same_alma_reads_and_after_an_export_has_begun_it_writes(
    full: ALMA, empty: ALMA, tmp_path: Path
) -> None:
    found: list[int] = []

    def look_and_learn(done: int, total: int) -> None:
        full.learn("dev", "Late", "success")
        found.append(full.retrieve("Late", "dev").total_items + full.verify().memories)

    def look(done: int, total: int) -> None:
        found.append(empty.retrieve("Deploy", "dev").total_items + empty.verify().memories)

    report = full.export(tmp_path / "x.jsonl", progress=look_and_learn)
    assert (report.counts.memories, b"Late" in (tmp_path / "x.jsonl").read_bytes(), found.pop() > 10) == (9, False, True)
    empty.import_from(tmp_path / "x.jsonl", progress=look)
    assert found == [0]
    assert empty.retrieve("Deploy", "dev").total_items
    assert empty.verify().ok


def test_a_write_in_the_middle_of_an_import_is_an_error_and_nothing_is_stored(empty: ALMA, file: Path) -> None:
    with refused(empty, StorageError, "in the middle of a write"):
        empty.import_from(file, progress=lambda *_: empty.learn("dev", "Late", "success"))
    assert empty.learn("dev", "Now", "success")
    assert empty.verify().ok


@pytest.mark.parametrize("error", [OSError("mine"), sqlite3.OperationalError("mine"), UnicodeError("mine"), SystemExit("mine")])
def test_the_error_of_a_progress_callback_passes_through_as_it_is(
    full: ALMA, tmp_path: Path, error: BaseException, stored_in: StoredIn
) -> None:
    def fail(done: int, total: int) -> None:
        raise error

    full.export(tmp_path / "x.jsonl")
    for work in (
        lambda: full.export(tmp_path / "y.jsonl", progress=fail),
        lambda: copy.import_from(tmp_path / "x.jsonl", progress=fail),
    ):
        with (
            ALMA.open(tmp_path / "copy", project_id="copy", embedding_provider="hash", **stored_in(tmp_path / "copy")) as copy,
            pytest.raises(type(error)) as caught,
        ):
            work()
        assert caught.value is error
    assert not (tmp_path / "y.jsonl").exists()


def test_the_error_of_an_open_file_is_its_own(full: ALMA) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        full.export(Full())
    assert caught.type is OSError


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_a_damaged_memory_is_named_and_no_file_appears(full: ALMA, tmp_path: Path) -> None:
    (memory, *_) = full.list_memories()
    connection = sqlite3.connect(tmp_path / "full" / "alma.db", isolation_level=None)
    connection.execute("UPDATE memory SET body = x'00' WHERE id = ?", (memory.id,))
    connection.close()

    with pytest.raises(StorageError, match=f"memory {memory.id} .*alma verify"):
        full.export(tmp_path / "damaged.jsonl")
    assert not (tmp_path / "damaged.jsonl").exists()


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(memories, min_size=1, max_size=5))
def test_whatever_can_be_stored_survives_the_way(open_store: OpenStore, tmp_path: Path, given: list[Any]) -> None:
    alma, other = (open_store(f"{name}-{len(list(tmp_path.iterdir()))}") for name in ("from", "to"))
    for memory in given:
        try:
            alma.add_many([memory.model_copy(update={"project_id": ""})])
        except AlmaError:
            continue
    file = io.BytesIO()
    alma.export(file)
    file.seek(0)
    other.import_from(file)

    assert other.content_hash() == alma.content_hash()
    assert held(other)["by_kind"] == held(alma)["by_kind"]


def test_a_copy_has_the_same_content_hash_after_maintenance_in_an_open_episode_and_after_rules_were_purged(
    open_store: OpenStore, clock: ManualClock
) -> None:
    alma, file = open_store("worn", forgetting={"outcome": {"max_age_days": 1}}), io.BytesIO()
    for verdict, strategy in (("success", "blue-green"), ("failure", "by hand")):
        for _ in range(4):
            clock.advance(hours=1)
            alma.learn("dev", "Deploy the shop", verdict, strategy)
    alma.purge([rule.id for kind in ("heuristic", "anti_pattern") for rule in alma.list_memories(kind=kind)])
    clock.advance(days=2)
    assert alma.maintain().total
    copy = open_store("copy")
    with alma.episode(agent="dev", task="Fix the build") as episode:
        alma.export(file)
        file.seek(0)
        copy.import_from(file)
        assert copy.content_hash() == alma.content_hash()
        episode.abandon()
