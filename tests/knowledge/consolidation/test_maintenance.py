"""Maintenance merges memories that say the same where the settings say so."""

from pathlib import Path

from alma import ALMA
from alma.testing import FixedClock

SAME = ("The nightly backup starts at 02:00 UTC.", "At 02:00 UTC the nightly backup starts.")


def open_shop(folder: Path, clock: FixedClock, **maintenance: object) -> ALMA:
    return ALMA.open(folder, project_id="shop", embedding_provider="local", clock=clock, maintenance=maintenance)


def test_it_is_off_by_default(tmp_path: Path, clock: FixedClock) -> None:
    with open_shop(tmp_path, clock) as alma:
        for text in SAME:
            alma.add_domain_knowledge("dev", "ops", text)

        report = alma.maintain()

        assert (report.merged, len(alma.list_memories())) == (0, 2)


def test_it_merges_for_each_agent_and_is_undone(tmp_path: Path, clock: FixedClock) -> None:
    with open_shop(tmp_path, clock, consolidate=True) as alma:
        for agent in ("dev", "ops"):
            for text in SAME:
                alma.add_domain_knowledge(agent, "ops", text)
        for text in SAME:
            alma.add_user_preference("mia", "ops", text)
        before = alma.content_hash()
        assert alma.maintain(dry_run=True).merged == 3
        assert alma.content_hash() == before

        report = alma.maintain()

        assert (report.merged, report.total, len(alma.list_memories())) == (3, 0, 3)
        assert alma.maintain().merged == 0
        alma.undo(report.seqs[0] - 1)
        assert alma.content_hash() == before
        assert alma.maintain().merged == 0


def test_it_merges_preferences_where_no_agent_has_memories(tmp_path: Path, clock: FixedClock) -> None:
    with open_shop(tmp_path, clock, consolidate=True) as alma:
        for text in SAME:
            alma.add_user_preference("mia", "ops", text)

        assert alma.maintain().merged == 1


def test_a_run_that_is_not_due_merges_nothing(tmp_path: Path, clock: FixedClock) -> None:
    with open_shop(tmp_path, clock, consolidate=True) as alma:
        alma.maintain()
        for text in SAME:
            alma.add_domain_knowledge("dev", "ops", text)

        assert alma.maintain(due_only=True).merged == 0
        clock.advance(days=2)
        assert alma.maintain(due_only=True).merged == 1
