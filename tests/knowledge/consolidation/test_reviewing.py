"""Pairs that the words leave open go to `alma review`: a person merges them, or keeps them apart for good."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA, ValidationError
from alma_cli.app import app
from alma_knowledge.consolidation import ConsolidationEngine, ConsolidationError, judge_pair, list_unsure

Fact = Callable[..., str]
OPEN = ("The mobile app talks to the gateway over gRPC.", "The mobile app reaches the gateway by gRPC.")
NEAR = 0.3


def consolidate(alma: ALMA) -> None:
    alma.consolidate("dev", threshold=NEAR, dry_run=False)


@pytest.fixture
def pair(alma: ALMA, fact: Fact) -> list[str]:
    """Two facts of which the words leave open whether they say the same, the older first; a consolidation met them."""
    ids = [fact(text) for text in OPEN]
    alma.consolidate("dev", threshold=NEAR)
    assert list_unsure(alma) == ([], 0)
    consolidate(alma)
    return ids


def test_what_a_consolidation_left_open_is_listed_until_a_memory_says_something_else(alma: ALMA, pair: list[str]) -> None:
    (found,), count = list_unsure(alma)
    assert (found["ids"], found["survivor"], found["agent"], count) == (pair, pair[0], "dev", 1)
    assert [text.splitlines()[-1] for text in found["texts"]] == list(OPEN)
    assert list_unsure(alma, "lead") == ([], 0)
    before = alma.content_hash()
    consolidate(alma)
    assert alma.content_hash() == before

    alma.edit(alma.get(pair[0]), fact="The mobile app talks to 3 gateways.")

    assert list_unsure(alma) == ([], 0)


def test_a_person_merges_a_pair_and_takes_that_back(alma: ALMA, pair: list[str]) -> None:
    before = alma.content_hash()

    seq = judge_pair(alma, pair, "merge")

    assert list_unsure(alma) == ([], 0)
    assert [one.text for one in alma.list_memories()] == [OPEN[0]]
    assert alma.get(pair[0]).metadata["merged_from"] == [pair[1]]
    alma.undo(seq - 1)
    assert alma.content_hash() == before
    assert list_unsure(alma)[1] == 1


def test_an_outcome_is_no_part_of_a_pair(alma: ALMA, pair: list[str]) -> None:
    outcome = alma.learn("dev", "Call the gateway", "success", "gRPC")
    with pytest.raises(ConsolidationError, match="a pair is of two memories that were stated"):
        judge_pair(alma, [pair[0], outcome.id], "keep")


def test_a_pair_that_a_person_keeps_apart_is_never_merged_until_that_is_undone(alma: ALMA, pair: list[str]) -> None:
    engine = ConsolidationEngine(storage=alma, llm_client=lambda prompt: '{"same": [1], "contrary": [], "text": ""}')

    def merge_with_a_model() -> int:
        run = engine.consolidate("dev", memory_type="domain_knowledge", similarity_threshold=NEAR, dry_run=True)
        return asyncio.run(run).merged_count

    assert merge_with_a_model() == 1

    seq = judge_pair(alma, pair, "keep")

    assert list_unsure(alma) == ([], 0)
    assert merge_with_a_model() == 0
    with pytest.raises(ConsolidationError, match="kept these memories apart"):
        judge_pair(alma, pair, "merge")
    alma.undo(seq - 1)
    assert list_unsure(alma)[1] == 1
    assert merge_with_a_model() == 1


def test_a_merge_of_a_model_that_a_person_undid_is_not_made_again(alma: ALMA, pair: list[str]) -> None:
    engine = ConsolidationEngine(storage=alma, llm_client=lambda prompt: '{"same": [1], "contrary": [], "text": ""}')

    def merge_with_a_model() -> int | None:
        run = engine.consolidate("dev", memory_type="domain_knowledge", similarity_threshold=NEAR)
        return asyncio.run(run).journal_seq

    seq = merge_with_a_model()
    assert seq is not None
    alma.undo(seq - 1)

    merge_with_a_model()

    assert len(alma.list_memories()) == 2


def test_a_pair_is_gone_with_one_of_its_memories(alma: ALMA, pair: list[str]) -> None:
    alma.purge(memory_ids=[pair[1]])

    assert list_unsure(alma) == ([], 0)
    assert pair[1] not in json.dumps([body for _, _, body in alma.storage.project("shop").records("consolidation.unsure")])


def test_only_what_one_owner_stated_and_may_say_the_same_is_merged(alma: ALMA, fact: Fact, pair: list[str]) -> None:
    other, elsewhere = fact("The mobile app talks to the gateway over 2 ports."), fact(OPEN[0], agent="lead")

    for ids, reason in (
        ([pair[0], other], "another number"),
        ([pair[0], elsewhere], "two owners"),
        ([pair[0], pair[0]], "two memories"),
        ([pair[0], "0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55"], "two memories"),
    ):
        with pytest.raises(ConsolidationError, match=reason):
            judge_pair(alma, ids, "merge")
    with pytest.raises(ValidationError, match="merge or keep"):
        judge_pair(alma, pair, "success")  # type: ignore[arg-type]
    assert len(alma.list_memories()) == 4


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs `alma review` in a project with an unsure pair, and returns its output, "failed" if it failed."""
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "config.yaml"
    file.write_text(f"alma:\n  project_id: shop\n  storage_dir: {tmp_path}\n  embedding_provider: hash\n")
    with ALMA.from_config(file) as alma:
        for text in OPEN:
            alma.add_domain_knowledge("dev", "ops", text)
        consolidate(alma)

    def run(*arguments: str) -> str:
        ended = CliRunner().invoke(app, ["review", *arguments, "--config", str(file)])
        return "failed" if ended.exit_code else ended.stdout

    return run


def test_alma_review_lists_shows_and_takes_the_verdict_of_a_pair(review: Callable[..., str]) -> None:
    (pair,) = json.loads(review("--json"))["pairs"]
    listed = review()
    assert "Unsure: 1" in listed
    assert all(text in listed for text in (pair["id"], *OPEN))
    assert "There is nothing to judge" not in listed
    assert pair["reason"] in json.loads(review(pair["id"], "--json"))["reason"]
    assert review(pair["id"], "--verdict", "perhaps") == "failed"

    kept = review(pair["id"], "--verdict", "keep")
    assert "Kept apart for good, as record 4; `alma undo --to 3` takes that back" in kept
    assert "There is nothing to judge" in review()
    assert review(pair["id"], "--verdict", "merge") == "failed"


def test_alma_review_merges_a_pair(review: Callable[..., str]) -> None:
    (pair,) = json.loads(review("--json"))["pairs"]

    merged = json.loads(review(pair["id"], "--verdict", "merge", "--json"))

    assert (merged["ids"], merged["verdict"]) == (pair["id"].split("/"), "merge")
    assert json.loads(review("--json"))["pairs_count"] == 0
