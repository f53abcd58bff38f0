"""Episodes at the façade: what is shown, done and used, and what is kept of it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from alma import ALMA, ConflictError, EpisodeRecord, MemoryNotFoundError, MemorySlice, ScopeViolationError, ValidationError
from alma.types import EpisodeStatus, Exposure, Step
from attempts import Counts, counts, outcomes, told
from facade import START, ManualClock, OpenStore, held, refused

TASK = "Deploy auth service"


def test_the_calls_run_as_the_reference_writes_them(alma: ALMA) -> None:
    alma.add_heuristic("backend-dev", TASK, "Roll out blue-green")
    with alma.episode(agent="backend-dev", task=TASK) as episode:
        prompt = episode.memories.to_prompt()
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.observe("As [H1] says, I go blue-green.")
        episode.succeed(strategy="blue-green")
    assert "Roll out blue-green" in prompt
    assert told(outcomes(alma, TASK, "backend-dev")) == [
        ("failure", "kubectl apply", "ImagePullBackOff"),
        ("success", "blue-green", None),
    ]
    assert alma.verify().ok


def test_the_record_of_an_episode_has_everything_that_was_shown_done_and_said(alma: ALMA, clock: ManualClock) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    other = alma.add_heuristic("dev", TASK, "by hand")
    with alma.episode("dev", TASK, user_id="ann", task_type="deployment", episode_id="run-7", top_k=3) as episode:
        clock.advance(seconds=2)
        first = episode.step("docker push", ok=True, output="pushed", duration_ms=12.4, tool="docker")
        second = episode.step("kubectl apply", error="no such image")
        clock.advance(seconds=1)
        cited = episode.observe(f"I use [{episode.record.shown[0].tag}].")
        returned = episode.succeed(strategy="blue-green", feedback="quick")
    shown = episode.memories.recalled
    assert cited == [shown[0].memory.id]
    (failure, outcome) = outcomes(alma, TASK, "dev")
    assert returned == alma.get_episode("run-7") == episode.record
    assert returned == EpisodeRecord(
        id="run-7",
        project_id="shop",
        agent="dev",
        task=TASK,
        task_type="deployment",
        user_id="ann",
        status=EpisodeStatus.ENDED,
        outcome="success",
        strategy="blue-green",
        feedback="quick",
        started_at=START,
        ended_at=clock.now,
        used=(shown[0].memory.id,),
        credited=(shown[0].memory.id,),
        outcome_id=outcome.id,
        shown=(
            Exposure(memory_id=shown[0].memory.id, tag="H1", rank=1, score=shown[0].score, used=True),
            Exposure(memory_id=shown[1].memory.id, tag="H2", rank=2, score=shown[1].score, used=False),
        ),
        steps=(first, second),
    )
    assert {rule.id, other.id} == {exposure.memory_id for exposure in returned.shown}
    assert first == Step(
        number=1, action="docker push", tool="docker", ok=True, output="pushed", duration_ms=12, at=first.at, memory_id=None
    )
    assert (second.ok, second.error, second.memory_id) == (False, "no such image", failure.id)
    assert failure.metadata == {"episode_id": "run-7", "step": 2}
    assert outcome.metadata == {"episode_id": "run-7"}
    assert (outcome.duration_ms, outcome.task_type, outcome.user_feedback) == (3000, "deployment", "quick")
    assert returned.duration_ms == 3000


def test_a_step_is_there_for_others_when_the_call_returns(alma: ALMA, open_store: OpenStore) -> None:
    episode = alma.episode("dev", TASK)
    episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
    other = open_store()
    assert other.get_episode(episode.id).steps == episode.steps
    assert told(outcomes(other, TASK, "dev")) == [("failure", "kubectl apply", "ImagePullBackOff")]
    assert other.get_episode(episode.id).status == EpisodeStatus.OPEN


def test_beginning_a_step_and_an_end_are_one_journal_record_each(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    before = held(alma)["journal_records"]
    episode = alma.episode("dev", TASK)
    assert held(alma)["journal_records"] == before + 1
    episode.step("a", ok=False)
    assert held(alma)["journal_records"] == before + 2
    episode.used(episode.memories.ids)
    episode.observe("[H1]")
    assert held(alma)["journal_records"] == before + 2
    episode.succeed()
    assert held(alma)["journal_records"] == before + 3


def test_what_was_cited_counts_as_used_and_the_rest_of_the_slice_as_passed_over(alma: ALMA) -> None:
    for strategy in ("blue-green", "by hand", "at night"):
        alma.add_heuristic("dev", TASK, strategy)
    with alma.episode("dev", TASK) as episode:
        used, *rest = episode.memories.ids
        assert episode.observe("nothing cited, [X9] and [H12] are of nobody") == []
        assert episode.observe("as in [H1]") == [used]
        assert counts(alma, used) == Counts(0, 0)
    assert counts(alma, used) == Counts(1, 0)
    assert [counts(alma, memory_id) for memory_id in rest] == [Counts(0, 1)] * 2


def test_an_explicit_list_counts_also_an_empty_one_and_adds_to_citations(alma: ALMA) -> None:
    ids = [alma.add_heuristic("dev", TASK, strategy).id for strategy in ("blue-green", "by hand")]
    with alma.episode("dev", TASK) as episode:
        episode.observe("[H1]")
        episode.used(episode.memories.ids[1:])
    assert [counts(alma, memory_id) for memory_id in ids] == [Counts(1, 0)] * 2
    with alma.episode("dev", TASK) as episode:
        episode.used([])
    assert [counts(alma, memory_id) for memory_id in ids] == [Counts(1, 1)] * 2


def test_silence_about_what_was_used_is_neutral(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    with alma.episode("dev", TASK) as episode:
        episode.observe("I did it my way.")
        episode.succeed()
    assert counts(alma, rule.id) == Counts(0, 0)
    (exposure,) = alma.get_episode(episode.id).shown
    assert exposure.used is None


def test_a_memory_that_was_used_without_being_shown_counts_and_an_unknown_one_is_logged(
    alma: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    rule = alma.add_heuristic("dev", "Bake bread", "slowly")
    with alma.episode("dev", TASK) as episode:
        episode.used([rule.id, "m1"])
    assert counts(alma, rule.id) == Counts(1, 0)
    assert "'m1'" in caplog.text
    assert alma.get_episode(episode.id).used == (rule.id, "m1")


def test_at_most_twenty_steps_become_memories_and_all_stay_in_the_record(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        for number in range(30):
            episode.step("pull", ok=False, error=f"error {chr(97 + number % 26)}{'z' * (number // 26)}")
    assert len([outcome for outcome in outcomes(alma, TASK, "dev") if outcome.outcome == "failure"]) == 20
    assert [step.number for step in alma.get_episode(episode.id).steps] == list(range(1, 31))


@pytest.mark.parametrize("source", ["agent", "tool"])
def test_the_memory_of_a_step_says_who_judged_it(alma: ALMA, source: str) -> None:
    with alma.episode("dev", "Deploy auth service") as episode:
        step = episode.step("kubectl apply", ok=False, error="ImagePullBackOff", source=source)
    (stored,) = [memory for memory in alma.list_memories("outcome") if memory.id == step.memory_id]
    assert alma.provenance(stored.id).verdict_source == source


def test_steps_are_told_apart_by_tool_as_named_or_else_by_what_does_not_vary_in_the_action(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        kept = [
            episode.step("retry 1", ok=False, error="lost"),
            episode.step("retry 2", ok=False, error="lost"),
            episode.step("ask again", ok=False, error="lost", tool="model 1"),
            episode.step("ask again", ok=False, error="lost", tool="model 2"),
        ]
    assert [step.tool for step in kept] == ["retry <number>", "retry <number>", "model 1", "model 2"]
    assert [step.memory_id is not None for step in kept] == [True, False, True, True]


def test_steps_from_many_threads_are_numbered_without_a_gap(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: episode.step(f"tool {number % 2}", ok=False, error="same"), range(16)))
    record = alma.get_episode(episode.id)
    assert [step.number for step in record.steps] == list(range(1, 17))
    assert [step.memory_id is not None for step in record.steps].count(True) == 1


def test_what_tools_give_is_kept_whatever_it_holds_and_shortened(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        episode.step("a" * 5_000, error="\x00 \ud800 " + "b" * 5_000, output="  \x00c")
    (step,) = alma.get_episode(episode.id).steps
    assert len(step.action) == 1_000
    assert step.error is not None
    assert step.error.startswith("\ufffd \ufffd bbb")
    assert len(step.error) == 2_000
    assert step.output == "\ufffdc"
    assert alma.verify().ok


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"action": ""}, "action"),
        ({"action": 3}, "action"),
        ({"action": "a", "ok": "yes"}, "ok"),
        ({"action": "a", "ok": True, "error": "e"}, "no error"),
        ({"action": "a", "error": 3}, "error"),
        ({"action": "a", "output": b"x"}, "output"),
        ({"action": "a", "tool": 3}, "tool"),
        ({"action": "a", "duration_ms": -1}, "duration_ms"),
        ({"action": "a", "duration_ms": float("nan")}, "duration_ms"),
    ],
)
def test_a_bad_step_is_refused_and_nothing_is_stored(alma: ALMA, given: dict[str, object], named: str) -> None:
    episode = alma.episode("dev", TASK)
    with refused(alma, ValidationError, named):
        episode.step(**given)
    assert alma.get_episode(episode.id).steps == ()
    assert episode.is_open


@pytest.mark.parametrize("given", ["id", [1], [None]])
def test_used_takes_a_list_of_ids(alma: ALMA, given: object) -> None:
    with alma.episode("dev", TASK) as episode, pytest.raises(ValidationError):
        episode.used(given)


def test_a_bad_verdict_is_refused_and_leaves_the_episode_open(alma: ALMA) -> None:
    episode = alma.episode("dev", TASK)
    with refused(alma, ValidationError, "'great'"):
        episode.end("great")
    with refused(alma, ValidationError, "strategy"):
        episode.succeed(strategy=3)
    assert episode.is_open


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"task": ""}, ValidationError),
        ({"agent": ""}, ScopeViolationError),
        ({"agent": None}, ScopeViolationError),
        ({"top_k": 0}, ValidationError),
        ({"user_id": ""}, ScopeViolationError),
        ({"episode_id": ""}, ValidationError),
        ({"episode_id": "a\nb"}, ValidationError),
        ({"task_type": 3}, ValidationError),
    ],
)
def test_an_episode_that_cannot_begin_leaves_nothing(alma: ALMA, given: dict[str, object], error: type[Exception]) -> None:
    with refused(alma, error):
        alma.episode(**{"agent": "dev", "task": TASK, **given})
    assert alma.recent_episodes() == []


def test_an_agent_begins_no_episode_on_what_it_may_not_learn(open_store: OpenStore) -> None:
    alma = open_store(agents={"dev": {"cannot_learn": ["payments"]}})
    with refused(alma, ScopeViolationError, "payments"):
        alma.episode("dev", TASK, task_type="payments")
    with alma.episode("dev", TASK, task_type="deployment"):
        pass


def test_an_episode_id_serves_once(alma: ALMA, open_store: OpenStore) -> None:
    episode = alma.episode("dev", TASK, episode_id="run-7")
    for opened in (alma, open_store()):
        with refused(opened, ConflictError, r"'run-7' already: it is open"):
            opened.episode("dev", TASK, episode_id="run-7")
    episode.fail("no luck")
    with refused(alma, ConflictError, r"'run-7' already: it ended as failure"):
        alma.episode("dev", TASK, episode_id="run-7")
    with alma.for_project("other").episode("dev", TASK, episode_id="run-7"):
        pass


def test_of_many_that_begin_one_episode_at_once_one_wins(alma: ALMA) -> None:
    def begin(_: int) -> bool:
        try:
            alma.episode("dev", TASK, episode_id="run-7")
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(begin, range(16))).count(True) == 1


def test_recent_episodes_come_newest_first(alma: ALMA, clock: ManualClock) -> None:
    for name in ("b", "c", "a"):
        clock.advance(seconds=1)
        alma.episode("dev", TASK, episode_id=name)
    assert [record.id for record in alma.recent_episodes()] == ["a", "c", "b"]
    assert [record.id for record in alma.recent_episodes(2)] == ["a", "c"]


def test_an_unknown_episode_is_an_error_that_names_it(alma: ALMA) -> None:
    with pytest.raises(MemoryNotFoundError, match="'e1'"):
        alma.get_episode("e1")
    with pytest.raises(MemoryNotFoundError, match="'e1'"):
        alma.resume_episode("e1")


def test_a_suspended_episode_is_resumed_by_another_process_and_goes_on(open_store: OpenStore) -> None:
    first = open_store()
    rule = first.add_heuristic("dev", TASK, "blue-green")
    begun = first.episode("dev", TASK, episode_id="run-7")
    begun.step("pull", ok=False, error="lost 1")
    kept = begun.memories.to_json()
    begun.suspend()
    first.close()

    second = open_store()
    assert second.get_episode("run-7").status == EpisodeStatus.OPEN
    with second.resume_episode("run-7", memories=MemorySlice.from_json(kept)) as episode:
        assert episode.memories.ids == [rule.id]
        assert episode.observe("[H1]") == [rule.id]
        assert episode.step("pull", ok=False, error="lost 2").memory_id is None
        assert episode.step("pull", ok=True).number == 3
        episode.succeed()
    assert told(outcomes(second, TASK, "dev")) == [
        ("failure", "pull", "lost 1"),
        ("success", "pull", None),
        ("success", "", None),
    ]
    assert counts(second, rule.id) == Counts(1, 0)


def test_a_suspended_episode_takes_nothing_and_leaving_its_block_does_nothing(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        episode.suspend()
        episode.suspend()
        with pytest.raises(ConflictError, match="suspended"):
            episode.step("a")
        with pytest.raises(ConflictError, match="suspended"):
            episode.succeed()
    assert alma.get_episode(episode.id).status == EpisodeStatus.OPEN
    assert alma.resume_episode(episode.id).memories.total_items == 0


def test_an_episode_that_is_held_or_has_ended_cannot_be_resumed(alma: ALMA, open_store: OpenStore) -> None:
    episode = alma.episode("dev", TASK)
    for opened in (alma, open_store()):
        with refused(opened, ConflictError, "is held by a program"):
            opened.resume_episode(episode.id)
    episode.end()
    with refused(alma, ConflictError, "ended as unverified"):
        alma.resume_episode(episode.id)


def test_an_episode_says_what_it_is(alma: ALMA) -> None:
    episode = alma.episode("dev", TASK, episode_id="run-7")
    assert repr(episode) == "<Episode run-7 of 'dev': 'Deploy auth service', open>"
    episode.abandon()
    assert repr(episode).endswith("abandoned>")


def test_what_was_shown_may_have_been_retrieved_before(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    memories = alma.retrieve(TASK, "dev")
    alma.add_heuristic("dev", TASK, "by hand")
    with alma.episode("dev", "Deploy it", memories=memories) as episode:
        assert episode.memories is memories
        assert episode.observe("As [H1] says") == [rule.id]
    assert [exposure.memory_id for exposure in alma.get_episode(episode.id).shown] == [rule.id]


def test_what_another_agent_or_project_was_shown_is_refused(alma: ALMA) -> None:
    with refused(alma, ValidationError, "retrieved for 'ops' of project 'shop', not for 'dev' of 'shop'"):
        alma.episode("dev", TASK, memories=alma.retrieve(TASK, "ops"))
    with refused(alma, ValidationError, "project 'other'"):
        alma.episode("dev", TASK, memories=alma.for_project("other").retrieve(TASK, "dev"))
    with refused(alma, ValidationError, "a slice that retrieve returned"):
        alma.episode("dev", TASK, memories=["m1"])  # type: ignore[arg-type]
