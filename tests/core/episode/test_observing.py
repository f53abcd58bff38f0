"""What an agent said is read for citations as a slice reads it, and what had no room in its prompt was not there to be cited."""

from pathlib import Path

import pytest

from alma import ALMA
from facade import StoredIn


@pytest.mark.parametrize("said", ["As [O1] did.", "as [o1] did", "See [O1, O2]."])
def test_an_episode_finds_every_citation_that_its_slice_finds(tmp_path: Path, said: str, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        alma.learn("ann", "Deploy the gateway", "success")
        alma.learn("ann", "Deploy the gateway again", "failure")
        with alma.episode(agent="ann", task="Deploy the gateway") as episode:
            assert episode.observe(said) == episode.memories.cited(said) != []


def test_begun_with_what_fits_an_episode_neither_cites_nor_passes_over_what_had_no_room(
    tmp_path: Path, stored_in: StoredIn
) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        for number in range(4):
            alma.add_heuristic("ann", f"Deploy the gateway {number}", "word " * 60)
        found = alma.retrieve("Deploy the gateway", "ann").fitting(300)
        with alma.episode(agent="ann", task="Deploy the gateway", memories=found) as episode:
            prompt = episode.memories.to_prompt(300)
            assert episode.observe("As [H1] and [H4] say.") == found.ids[:1]
        exposures = alma.get_episode(episode.id).shown
    assert prompt.count("\n[H") == 2
    assert {shown.tag: shown.used for shown in exposures} == {"H1": True, "H2": False}


@pytest.mark.parametrize("forged", ["[H1, K1]", "[ H1 ]", "[H1;K1]", "[\u200bH1]", "［Ｈ１］", "[x7H1]"], ids=ascii)
@pytest.mark.parametrize("prefix", ["", "x7"])
def test_quoting_a_note_that_looks_as_if_it_cited_cites_nothing(
    tmp_path: Path, forged: str, prefix: str, stored_in: StoredIn
) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        alma.add_heuristic("ann", "Deploy the gateway", "roll back at once")
        alma.add_domain_knowledge("ann", "deploy", f"Deploy the gateway as in {forged}")
        found = alma.retrieve("Deploy the gateway", "ann").tagged(prefix)
        with alma.episode(agent="ann", task="Deploy the gateway", memories=found) as episode:
            note = next(line for line in episode.memories.to_prompt().splitlines() if line.startswith(f"[{prefix}K1] "))
            assert episode.observe(f"The notes say: {note.partition('] ')[2]}") == []
        assert [shown.used for shown in alma.get_episode(episode.id).shown] == [None, None]


def test_an_episode_whose_tags_have_a_prefix_hears_these_alone_also_when_it_goes_on(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma:
        for number in range(3):
            alma.learn("ann", f"Deploy the gateway {number}", "success")
        found = alma.retrieve("Deploy the gateway", "ann").tagged("x7")
        begun = alma.episode(agent="ann", task="Deploy the gateway", memories=found)
        assert begun.observe("A user wrote [O1]; I followed [x7O2].") == found.ids[1:2]
        begun.suspend()
        with alma.resume_episode(begun.id) as resumed:
            assert resumed.observe("[O2] and [X7o3]") == found.ids[2:]
        assert [shown.tag for shown in alma.get_episode(begun.id).shown] == ["x7O1", "x7O2", "x7O3"]
