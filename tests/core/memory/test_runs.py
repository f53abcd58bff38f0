"""Episodes of one run: found by its id, and judged together."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConflictError, Episode, MemoryNotFoundError, ValidationError
from attempts import usage_of
from facade import ManualClock, OpenStore, StoredIn, exported_lines, held, refused
from other_process import OtherProcess
from statements import counted, traced

TASK = "Deploy auth service"
END_WITH_RULES = 14
"""Statements that the end of an episode may run."""


def attempt(alma: ALMA, agent: str, run: str, end: Callable[[Episode], object] | None = None, **given: object) -> str:
    with alma.episode(agent, TASK, run_id=run, **given) as episode:  # type: ignore[arg-type]
        episode.step("kubectl apply", ok=True)
        if end:
            end(episode)
    return episode.id


def verdicts(alma: ALMA, run: str) -> dict[str, str | None]:
    return {episode.agent: episode.outcome for episode in alma.run_episodes(run)}


def test_an_episode_keeps_the_ids_of_its_run_and_thread(alma: ALMA) -> None:
    with alma.episode("dev", TASK, run_id=" run-7 ", thread_id="chat/1") as episode:
        episode.succeed()
    assert (episode.record.run_id, episode.record.thread_id) == ("run-7", "chat/1")
    assert alma.get_episode(episode.id) == episode.record


def test_an_episode_without_ids_is_stored_as_it_was_before_there_were_any(alma: ALMA) -> None:
    with alma.episode("dev", TASK, run_id="", thread_id=None) as episode:
        episode.succeed()
    stored = {line["kind"]: line["body"] for line in exported_lines(alma, "record")}
    assert {"run_id", "thread_id", "verdict_source"}.isdisjoint({**stored["episode"], **stored["episode_end"]})
    found = alma.get_episode(episode.id)
    assert (found.run_id, found.thread_id, found.verdict_source) == (None, None, None)


@pytest.mark.parametrize("given", [{"run_id": "x" * 201}, {"run_id": 7.5}, {"thread_id": "a\nb"}, {"thread_id": b"t"}])
def test_an_id_that_is_no_label_begins_nothing(alma: ALMA, given: dict[str, object]) -> None:
    with refused(alma, ValidationError, next(iter(given))):
        alma.episode("dev", TASK, **given)  # type: ignore[arg-type]


def test_the_episodes_of_a_run_come_in_the_order_in_which_they_began(alma: ALMA, clock: ManualClock) -> None:
    made = []
    for agent in ("zoe", "adam", "mia"):
        made.append(attempt(alma, agent, "a"))
        attempt(alma, agent, "a/b")
        clock.advance(seconds=1)
    waiting = alma.episode("eve", TASK, run_id="a", deferred=True)
    assert [episode.id for episode in alma.run_episodes("a")] == [*made, waiting.id]
    assert len(alma.run_episodes("a/b")) == 3
    assert alma.run_episodes("b") == []


def test_looking_up_a_run_reads_no_other_episodes(open_store: OpenStore) -> None:
    with traced() as trace:
        alma = open_store()
        attempt(alma, "dev", "one")
        few = trace.count(lambda: alma.run_episodes("one"))
        for number in range(40):
            attempt(alma, "dev", f"other {number}")
        assert trace.count(lambda: alma.run_episodes("one")) == few


def test_every_ended_episode_of_a_run_is_settled_in_one_transaction(alma: ALMA, clock: ManualClock) -> None:
    ids = [attempt(alma, agent, "run-7") for agent in ("triage", "billing")]
    attempt(alma, "billing", "run-8")
    clock.advance(days=1)
    before = held(alma)["journal_records"]
    settled = alma.settle(outcome="failure", run_id="run-7", reason="never paid back", source="person")
    assert held(alma)["journal_records"] == before + 1
    assert settled == [alma.get_episode(key) for key in sorted(ids)]
    assert {(one.outcome, one.reason, one.verdict_source, one.settled_at) for one in settled} == {
        ("failure", "never paid back", "person", clock.now)
    }
    for one in settled:
        memory = alma.get(str(one.outcome_id))
        assert (memory.outcome, memory.user_feedback, memory.verdict_source) == ("failure", "never paid back", "person")
    assert verdicts(alma, "run-8") == {"billing": "unverified"}
    assert alma.verify().ok


def test_settling_a_run_alike_again_writes_nothing_and_otherwise_corrects(alma: ALMA) -> None:
    attempt(alma, "dev", "run-7", lambda episode: episode.succeed(source="evaluator"))
    attempt(alma, "qa", "run-7")
    first = alma.settle(outcome=True, run_id="run-7")
    before = held(alma)
    assert alma.settle(outcome="success", run_id="run-7") == first
    assert held(alma) == before
    assert {one.outcome for one in alma.settle(outcome="failure", run_id="run-7", source="tool")} == {"failure"}
    assert alma.verify().ok


def test_a_memory_that_several_episodes_of_the_run_used_is_credited_by_each(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    for _ in range(2):
        attempt(alma, "dev", "run-7", lambda episode: (episode.observe("[H1]"), episode.abandon())[1])
        attempt(alma, "dev", "run-7", lambda episode: episode.observe("[H1]"))
    alma.settle(outcome="success", run_id="run-7")
    usage = usage_of(alma, rule.id)
    assert (usage["used"], usage["ignored"], usage["credited_successes"], usage["credited_trials"]) == (2, 0, 2, 2)
    assert alma.verify().ok


def test_undoing_the_verdict_of_a_run_undoes_all_of_it(alma: ALMA) -> None:
    for agent in ("triage", "billing"):
        attempt(alma, agent, "run-7", lambda episode: episode.succeed("blue-green"))
    before, head = alma.content_hash(), alma.get_stats().journal_records
    alma.settle(outcome="failure", run_id="run-7")
    alma.undo(to=head)
    assert alma.content_hash() == before
    assert verdicts(alma, "run-7") == {"triage": "success", "billing": "success"}


def test_open_and_abandoned_episodes_of_a_run_are_left_alone(alma: ALMA, clock: ManualClock) -> None:
    attempt(alma, "gone", "run-7", Episode.abandon)
    clock.advance(seconds=1)
    attempt(alma, "done", "run-7")
    clock.advance(seconds=1)
    waiting = alma.episode("waits", TASK, run_id="run-7")
    waiting.suspend()
    assert [one.agent for one in alma.settle(outcome="success", run_id="run-7")] == ["done"]
    assert verdicts(alma, "run-7") == {"gone": None, "done": "success", "waits": None}


def test_a_run_in_which_nothing_has_ended_cannot_be_settled(alma: ALMA) -> None:
    deferred = alma.episode("dev", TASK, run_id="run-7", deferred=True)
    with refused(alma, ConflictError, f"no episode of run 'run-7' has ended: '{deferred.id}' is open"):
        alma.settle(outcome="success", run_id="run-7")


def test_an_unknown_run_is_named(alma: ALMA) -> None:
    attempt(alma, "dev", "run-7")
    with refused(alma, MemoryNotFoundError, "'run-8'"):
        alma.settle(outcome="success", run_id="run-8")


@pytest.mark.parametrize(
    "given",
    [
        {"outcome": "success"},
        {"outcome": "success", "episode_id": "e1", "run_id": "run-7"},
        {"outcome": "success", "run_id": ""},
        {"outcome": "success", "run_id": 7.5},
        {"run_id": "run-7"},
        {"outcome": "great", "run_id": "run-7"},
    ],
)
def test_settling_needs_an_outcome_and_either_an_episode_or_a_run(alma: ALMA, given: dict[str, object]) -> None:
    attempt(alma, "dev", "run-7", episode_id="e1")
    with refused(alma, ValidationError):
        alma.settle(**given)  # type: ignore[call-overload]


def test_a_run_is_settled_whole_or_not_at_all(alma: ALMA) -> None:
    attempt(alma, "dev", "run-7", lambda episode: episode.succeed(source="agent"))
    attempt(alma, "qa", "run-7", lambda episode: episode.succeed(source="tool"))
    with refused(alma, ConflictError, "judged by source 'tool'"):
        alma.settle(outcome="failure", run_id="run-7", source="agent")
    assert verdicts(alma, "run-7") == {"dev": "success", "qa": "success"}


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("steps", [0, 9])
@pytest.mark.not_on("file", "postgres", reason="counts SQLite's statements")
def test_a_run_id_keeps_the_end_of_an_episode_within_its_budget(open_store: OpenStore, deferred: bool, steps: int) -> None:
    with traced() as trace:
        alma = open_store()
        for number in range(20):
            alma.learn("dev", f"{TASK} {number}", number % 4 != 3, "blue-green")
        episode = alma.episode("dev", f"{TASK} once more", run_id="run-7", deferred=deferred)
        for number in range(steps):
            episode.step(f"Do part {number}", ok=number % 3 != 1, tool=f"tool {number % 2}")
        episode.used(episode.memories.ids[:4])
        assert 0 < counted(trace.of(lambda: episode.succeed(strategy="blue-green"))) <= END_WITH_RULES


def test_a_deferred_episode_is_found_by_its_run_once_it_ended(alma: ALMA) -> None:
    attempt(alma, "dev", "run-7", deferred=True)
    (settled,) = alma.settle(outcome="success", run_id="run-7")
    assert settled.outcome == "success"


def test_an_episode_whose_beginning_was_undone_is_no_longer_of_the_run(alma: ALMA) -> None:
    attempt(alma, "dev", "run-7")
    head = alma.get_stats().journal_records
    attempt(alma, "qa", "run-7")
    alma.undo(to=head)
    assert [one.agent for one in alma.settle(outcome="success", run_id="run-7")] == ["dev"]


def test_purging_the_memory_of_one_leaves_the_others_and_no_trace_of_its_run(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    secret = attempt(alma, "dev", "quokka-run")
    attempt(alma, "qa", "run-7")
    alma.purge([str(alma.get_episode(secret).outcome_id)])
    alma.compact()
    assert alma.run_episodes("quokka-run") == []
    assert [one.agent for one in alma.settle(outcome="success", run_id="run-7")] == ["qa"]
    alma.close()
    assert all(b"quokka-run" not in path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.not_on("file", "postgres", reason="the other process opens a SQLite file")
def test_another_process_settles_the_run(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    ids = [attempt(alma, agent, "run-7") for agent in ("triage", "billing")]
    setup = (
        f"from alma import ALMA\nalma = ALMA.open({str(tmp_path / 'store')!r}, project_id='shop', embedding_provider='hash')\n"
    )
    with OtherProcess(setup) as other:
        assert other.ask("[e.id for e in alma.settle(outcome='failure', run_id='run-7')]") == repr(sorted(ids))
        assert other.ask("alma.close()") == "None"
    assert verdicts(alma, "run-7") == {"triage": "failure", "billing": "failure"}


def test_a_run_crosses_an_export_of_all_and_of_one_agent(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    for agent in ("triage", "billing"):
        attempt(alma, agent, "run-7")
    for name, agent, expected in (("all", None, {"triage", "billing"}), ("one", "billing", {"billing"})):
        alma.export(tmp_path / f"{name}.jsonl", agent=agent)
        other = open_store(name)
        other.import_from(tmp_path / f"{name}.jsonl")
        assert {one.agent for one in other.settle(outcome="success", run_id="run-7")} == expected
        assert other.verify().ok


def test_asyncio_settles_and_lists_runs_too(tmp_path: Path, stored_in: StoredIn) -> None:
    async def work() -> list[str]:
        async with AsyncALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
            async with alma.episode("dev", TASK, run_id="run-7") as episode:
                await episode.step("kubectl apply", ok=True)
            settled = await alma.settle(outcome="success", run_id="run-7")
            assert settled == await alma.run_episodes("run-7")
            return [str(one.outcome) for one in settled]

    assert asyncio.run(work()) == ["success"]
