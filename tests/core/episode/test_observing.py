"""What an agent said is read for citations as a slice reads it."""

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
