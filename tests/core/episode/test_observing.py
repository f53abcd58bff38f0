"""What an agent said is read for citations as a slice reads it, and what had no room in its prompt was not there to be cited."""

from pathlib import Path

import pytest

from alma import ALMA


@pytest.mark.parametrize("said", ["As [O1] did.", "as [o1] did", "See [O1, O2]."])
def test_an_episode_finds_every_citation_that_its_slice_finds(tmp_path: Path, said: str) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        alma.learn("ann", "Deploy the gateway", "success")
        alma.learn("ann", "Deploy the gateway again", "failure")
        with alma.episode(agent="ann", task="Deploy the gateway") as episode:
            assert episode.observe(said) == episode.memories.cited(said) != []


def test_begun_with_what_fits_an_episode_neither_cites_nor_passes_over_what_had_no_room(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for number in range(4):
            alma.add_heuristic("ann", f"Deploy the gateway {number}", "word " * 60)
        found = alma.retrieve("Deploy the gateway", "ann").fitting(300)
        with alma.episode(agent="ann", task="Deploy the gateway", memories=found) as episode:
            prompt = episode.memories.to_prompt(300)
            assert episode.observe("As [H1] and [H4] say.") == found.ids[:1]
        exposures = alma.get_episode(episode.id).shown
    assert prompt.count("\n[H") == 2
    assert {shown.tag: shown.used for shown in exposures} == {"H1": True, "H2": False}
