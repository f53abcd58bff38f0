"""`alma demo` does the main job on real input, and fails when it does not."""

import dataclasses
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from alma import ALMA
from alma.types import MemorySlice
from alma.types.prompt import NOTHING_KNOWN
from alma_cli import replay
from alma_cli.replay import Run, first_tries, foresight, is_unseen, percentiles, read_runs

FIGURES = {
    *("ok", "failures", "embedder", "runs_learned", "learn_ms", "retrieve_ms", "memories", "store_bytes"),
    *("journal_records_verified", "unseen_tasks", "foresight", "prompt", "seconds", "learned", "failure_warning"),
    *("tasks_learned", "tried", "unknown"),
}


@pytest.mark.slow
def test_it_learns_80_runs_and_recalls_something_for_every_unseen_task(alma) -> None:
    found = alma("demo", "--embedder", "hash", "--json").json

    assert set(found) == FIGURES
    assert (found["ok"], found["failures"], found["runs_learned"]) == (True, [], 80)
    assert found["journal_records_verified"] >= 80
    assert [shown["task_id"] for shown in found["unseen_tasks"]] == [8, 18, 28, 38, 48]
    assert all(shown["recalled"] for shown in found["unseen_tasks"])
    assert found["prompt"]["before"] == ""
    assert "[O1]" in found["prompt"]["after"]
    assert found["unknown"]["prompt"] == NOTHING_KNOWN
    assert found["tasks_learned"] == 20
    assert 0 < found["learn_ms"]["p50"] <= found["learn_ms"]["p95"]
    assert found["foresight"]["tries"] == 20


@pytest.mark.slow
@pytest.mark.skipif(find_spec("alma_minilm") is None, reason="the extra `local` is not installed")
def test_the_real_model_recalls_cancellations_for_a_cancellation(alma) -> None:
    found = alma("demo", "--embedder", "minilm", "--json").json

    assert found["embedder"] != "hash"
    recalled = next(shown["recalled"] for shown in found["unseen_tasks"] if shown["task_id"] == 18)
    assert "cancel" in recalled[0]["text"].lower()


WITH_MODEL = pytest.mark.skipif(find_spec("alma_minilm") is None, reason="the extra `local` is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("embedder", ["hash", pytest.param("minilm", marks=WITH_MODEL)])
def test_the_outcomes_form_rules_and_each_next_try_is_foretold(alma, embedder: str) -> None:
    found = alma("demo", "--embedder", embedder, "--json").json
    learned, warned = found["learned"], found["failure_warning"]

    assert re.search(r": worked \d+ of \d+ times( \(\d tasks, last just now\))?", learned["heuristic"])
    assert re.search(r": failed \d+ of \d+ times .+; error: \".+\"", learned["anti_pattern"])
    assert learned["strategies"] >= len(learned["decided"]) > 3
    assert sum(group["trials"] for group in learned["runs"]) == 80
    assert (warned["tries"], warned["tasks"], warned["successes"]) == (60, 20, 27)
    assert warned["auc_interval"][0] < warned["auc"] < warned["auc_interval"][1]


@pytest.mark.slow
@WITH_MODEL
def test_with_the_real_model_forecasts_are_not_clearly_worse_than_the_base_rate(alma) -> None:
    warned = alma("demo", "--embedder", "minilm", "--json").json["failure_warning"]

    assert warned["auc_interval"][1] > 0.5
    assert warned["brier_interval"][0] < warned["base_rate_brier"]


@pytest.mark.slow
@WITH_MODEL
@pytest.mark.parametrize("columns", [80, 100])
def test_people_read_sixty_lines_with_a_rule_for_an_unseen_task_and_the_base_rate_beside_each_figure(alma, columns: int) -> None:
    told = alma("demo", "--embedder", "minilm", columns=columns).out

    assert len(told.splitlines()) <= 60
    assert max(map(len, told.splitlines())) <= columns
    assert re.search(r"\d of \d +\d +\d+% +\d+%–\d+%", told), "figures are whole"
    for words in (
        "Refund an insurance",
        "[H1] ",
        ": worked ",
        "base rate",
        "0.5",
        "95 %",
        "o=",
        NOTHING_KNOWN,
        "(before: empty)",
    ):
        assert words in told, words


@pytest.mark.slow
def test_the_tries_at_a_task_in_other_words_count_as_one_task(alma) -> None:
    found = alma("demo", "--embedder", "hash", "--json").json

    assert max(row["tasks"] for row in found["learned"]["decided"]) < max(row["trials"] for row in found["learned"]["decided"])


@pytest.mark.slow
def test_people_see_that_nothing_is_known_where_no_evidence_is_near(alma) -> None:
    told = alma("demo", "--embedder", "hash").out

    assert "Something else: " in told
    assert NOTHING_KNOWN in told


@pytest.mark.slow
def test_it_fails_loudly_when_no_rule_is_formed(alma, monkeypatch: pytest.MonkeyPatch) -> None:
    def unjudged(alma: ALMA, run: Run) -> None:
        alma.learn(agent=replay.AGENT, task=run.task, outcome="unverified", strategy_used=run.strategy)

    monkeypatch.setattr(replay, "learn_run", unjudged)
    ended = alma("demo", "--embedder", "hash", "--json", code=1)

    assert ended.json["failures"][-2:] == ["no heuristic was formed", "no anti_pattern was formed"]


@pytest.mark.slow
def test_no_unseen_task_is_among_what_is_recalled(alma) -> None:
    found = alma("demo", "--embedder", "hash", "--json").json
    learned = {run.task for run in read_runs() if not is_unseen(run)}

    recalled = {item["text"] for shown in found["unseen_tasks"] for item in shown["recalled"] if item["kind"] == "outcome"}
    assert recalled
    assert recalled <= learned


@pytest.mark.slow
def test_a_kept_store_verifies(alma, folder: Path) -> None:
    alma("demo", "--embedder", "hash", "--keep", "kept")

    config = str(folder / "kept" / ".alma" / "config.yaml")
    assert alma("verify", "-c", config, "--json").json["ok"] is True
    assert alma("stats", "-c", config, "--json").json["total"] >= 80


def test_a_folder_that_holds_a_store_is_not_used_again(project, folder: Path) -> None:
    before = project("stats", "--json").json
    assert "holds a store already" in project("demo", "--embedder", "hash", "--keep", str(folder), code=2).err
    assert project("stats", "--json").json == before


@pytest.mark.slow
def test_a_demo_that_could_not_start_can_be_started_again(alma) -> None:
    alma("demo", "--embedder", "openai", "--keep", "kept", code=2)
    alma("demo", "--embedder", "hash", "--keep", "kept")
    assert alma("stats", "-c", "kept/.alma/config.yaml", "--json").json["total"] >= 80


@pytest.mark.slow
def test_it_leaves_nothing_behind(alma, folder: Path) -> None:
    alma("demo", "--embedder", "hash", "--json")
    assert list(folder.iterdir()) == []


def test_it_fails_loudly_when_nothing_is_recalled(alma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "learn_run", lambda alma, run: None)
    ended = alma("demo", "--embedder", "hash", "--json", code=1)

    assert ended.json["ok"] is False
    assert any("nothing is recalled" in failure for failure in ended.json["failures"])


@pytest.mark.slow
def test_it_fails_loudly_when_a_stranger_sees_something(alma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "STRANGER", replay.AGENT)
    ended = alma("demo", "--embedder", "hash", code=1)

    assert "FAILED: an agent that learned nothing sees" in ended.out


def test_the_unseen_tasks_are_every_fifth_and_all_their_tries() -> None:
    runs = read_runs()
    assert len(runs) == 100
    assert [run.task_id for run in first_tries(filter(is_unseen, runs))] == [8, 18, 28, 38, 48]
    assert sum(map(is_unseen, runs)) == 20


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert percentiles([5.0, 1.0, 3.0, 2.0, 4.0]) == {"p50": 3.0, "p95": 5.0}
    assert percentiles([7.0]) == {"p50": 7.0, "p95": 7.0}


def test_foresight_counts_agreement_and_the_best_constant_guess(tmp_path: Path) -> None:
    run = Run(task_id=8, trial=0, task="Cancel my flight", strategy="transfer", steps=1, success=True, error=None)
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        replay.learn_run(alma, run)
        found = alma.retrieve(task=run.task, agent=replay.AGENT)
    failed = dataclasses.replace(run, success=False)
    pairs = [(run, found), (failed, found), (failed, found), (run, MemorySlice())]

    assert foresight(pairs) == {"tries": 3, "nearest_outcome_ended_alike": 1, "best_constant_guess": 2}
