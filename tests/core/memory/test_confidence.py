"""`alma.confidence`: how sure one may be of a strategy, as the published examples ask for it."""

from pathlib import Path

from alma import ALMA
from alma.confidence import ConfidenceEngine
from alma.types import Assessment
from facade import StoredIn

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


def test_retries_of_another_task_of_the_type_are_one_cluster_whatever_is_tried(alma: ALMA) -> None:
    for _ in range(8):
        alma.learn("dev", "Restore the backup", "failure", "copy the files", task_type="restore")

    here = alma.assess(context="Restore the backup", agent="dev", task_type="restore")
    elsewhere = alma.assess(context="Restore the mailboxes", agent="dev", task_type="restore")

    assert here.interval.upper < 0.3
    assert elsewhere.interval.upper > 0.7
