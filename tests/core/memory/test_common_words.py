"""What others of a project write does not take an agent's own words away from it."""

from pathlib import Path

import pytest

from alma import ALMA
from facade import StoredIn

pytestmark = pytest.mark.slow  # whichever test comes first makes the crowd

CROWD = 9_000
"""So many memories of others hold the words that are common here: well beyond what a search lists of one word."""


@pytest.fixture(scope="module")
def alma(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> ALMA:
    folder: Path = tmp_path_factory.mktemp("crowd")
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", **stored_in(folder)) as opened:
        opened.learn("ann", "Deploy the gateway", "success")
        opened.learn("ann", "Water the plants", "success")
        opened.learn_many({"agent": "crowd", "task": f"Deploy gateway {number}", "outcome": "success"} for number in range(CROWD))
        opened.learn("zoe", "Deploy the telescope", "success")
        yield opened


def by_words(alma: ALMA, task: str) -> list[str]:
    return [memory.text for memory in alma.retrieve(task, "ann", arms=("text",))]


def test_an_agent_finds_its_own_old_memory_by_a_word_that_everybody_uses(alma: ALMA) -> None:
    assert by_words(alma, "deploy") == ["Deploy the gateway"]


def test_a_rare_word_of_another_agent_changes_no_score(alma: ALMA) -> None:
    alone, beside = (
        alma.retrieve(task, "ann", arms=("text",), explain=True).recalled for task in ("deploy x1", "deploy telescope")
    )
    assert [item.explanation and item.explanation.share for item in alone] == [
        item.explanation and item.explanation.share for item in beside
    ]


def test_what_others_wrote_is_not_found_by_its_words(alma: ALMA) -> None:
    assert by_words(alma, "telescope") == []
