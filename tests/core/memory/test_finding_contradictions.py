"""The hook by which another package finds contradictions."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from alma import ALMA, DomainKnowledge
from alma.errors import ConfigurationError
from alma.protocols import Disputes
from alma.testing import FixedClock
from alma.types import Contradiction, UserPreference
from facade import StoredIn

QUESTION = "How long is the checkout timeout?"
Offer = Callable[[str], None]


def prefer_the_longest(memories: Sequence[DomainKnowledge | UserPreference]) -> Disputes:
    """Takes the longest text for the truth."""
    best, *rest = sorted(memories, key=lambda memory: -len(memory.text))
    pairs = [
        Contradiction(preferred_id=best.id, other_id=one.id, preferred=best.text, other=one.text, sort="denial", why="surer")
        for one in rest
    ]
    return Disputes(pairs, {one.id: ("surer", best.id) for one in rest}, [best.id, *(one.id for one in rest)])


@pytest.fixture
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Installs a package that finds contradictions, with a name before all others."""

    def install(where: str) -> None:
        info = tmp_path / "site" / "third_party-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[alma.contradictions]\naaa = {where}\n")
        monkeypatch.syspath_prepend(str(info.parent))

    return install


@pytest.fixture
def opened(tmp_path: Path, stored_in: StoredIn) -> Callable[[], ALMA]:
    """Opens a store with three facts, the last of which is the longest, and something learned."""

    def open_it() -> ALMA:
        clock = FixedClock()
        alma = ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", clock=clock, **stored_in(tmp_path))
        for text in ("The checkout timeout is 60 s", "The checkout timeout is 60 s, too", "The checkout timeout is 60 s, mostly"):
            alma.add_domain_knowledge("dev", "billing", text)
            clock.advance(timedelta(days=1))
        for _ in range(3):
            alma.learn("dev", QUESTION, "success", "read the settings")
        return alma

    return open_it


def test_a_package_says_what_contradicts_and_what_comes_first(offers: Offer, opened: Callable[[], ALMA]) -> None:
    offers(f"{__name__}:prefer_the_longest")

    with opened() as alma:
        found = alma.retrieve(QUESTION, "dev")
        verified = alma.retrieve(QUESTION, "dev", verified=True)

    assert [rule.strategy for rule in found.heuristics] == ["read the settings"]
    assert found.domain_knowledge[0].fact.endswith("mostly")
    assert found.to_prompt().count("(a surer note says otherwise)") == 2
    assert [pair.is_left_out for pair in found.contradictions] == [False, False]
    assert [memory.fact for memory in verified.domain_knowledge] == ["The checkout timeout is 60 s, mostly"]
    assert [pair.is_left_out for pair in verified.contradictions] == [True, True]


def test_a_package_that_cannot_be_loaded_is_named(offers: Offer, opened: Callable[[], ALMA]) -> None:
    offers("no_such_module:find")

    with (
        opened() as alma,
        pytest.raises(ConfigurationError, match=r"contradictions: 'aaa' \(no_such_module:find\) could not be loaded"),
    ):
        alma.retrieve(QUESTION, "dev")
