"""`alma.confidence`: how sure one may be of a strategy, as the published examples ask for it."""

from pathlib import Path

from alma import ALMA
from alma.confidence import ConfidenceEngine
from alma.types import Assessment
from alma.types.strategies import Range
from facade import OpenStore, StoredIn

TASK = "Testing a 5-field registration form"
STRATEGY = "Use incremental validation"


def test_a_strategy_is_assessed_as_alma_assesses_it(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        for _ in range(4):
            alma.learn("Helena", TASK, "success", STRATEGY)
        found = ConfidenceEngine(alma).assess_strategy(strategy=STRATEGY, context=TASK, agent="Helena")

        assert isinstance(found, Assessment)
        assert found == alma.assess(STRATEGY, TASK, "Helena").model_copy(update={"recommendation": "yes"})
    assert found.confidence_score > 0.8


def test_a_strategy_that_nobody_tried_is_unknown(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        found = ConfidenceEngine(alma).assess_strategy(STRATEGY, TASK, "Helena")

    assert (found.is_known, found.confidence_score) == (False, 0.5)
    assert (found.verdict, found.recommendation) == ("unknown", "neutral")


def test_a_strategy_that_only_failed_calls_for_caution(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        for _ in range(4):
            alma.learn("Helena", TASK, "failure", STRATEGY)
        found = ConfidenceEngine(alma).assess_strategy(STRATEGY, TASK, "Helena")

    assert (found.verdict, found.recommendation) == ("seems to fail", "caution")


def test_retries_of_one_task_are_a_cluster_whatever_is_tried(open_store: OpenStore) -> None:
    def interval(project: str, *tasks: str) -> Range:
        alma = open_store(project)
        for task in tasks:
            alma.learn("dev", task, "failure", "copy the files", task_type="restore")
        return alma.assess(context="Restore the mailboxes", agent="dev", task_type="restore").interval

    retries = interval("retries", *["Restore the backup"] * 8)
    others = interval(
        "others", *(f"Restore the backup of {name}" for name in ("ann", "bob", "eve", "kim", "lea", "max", "tom", "zoe"))
    )

    assert others.upper < 0.4 < retries.upper
