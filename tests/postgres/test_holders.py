"""Episodes are held across machines: by what each process says of itself to the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ConflictError, CorruptStoreError
from alma.types.episodes import EpisodeStatus
from alma_postgres import PostgresStorage
from facade import ManualClock
from postgres_server import PostgresServer
from postgres_stores import opened_at


@pytest.fixture
def stores(server: PostgresServer, tmp_path: Path) -> Iterator[tuple[PostgresStorage, PostgresStorage]]:
    """The same store, opened twice."""
    both = opened_at(server, tmp_path), opened_at(server, tmp_path)
    yield both
    for store in both:
        store.close()


def was_not_heard_of(store: PostgresStorage, *, seconds: int) -> None:
    """Has all holders be silent for so long."""
    with store.database.reading() as session:
        given = {"micros": seconds * 1_000_000}
        session.execute(f'UPDATE "{store.database.schema}".holder SET seen_at = seen_at - %(micros)s', given)


def test_a_holder_is_there_until_it_leaves(stores: tuple[PostgresStorage, PostgresStorage]) -> None:
    one, other = stores
    name = one.holders.id
    assert (name, other.holders.is_there(name)) == (one.holders.id, True)
    one.holders.leave()
    assert not other.holders.is_there(name)
    assert one.holders.id != name


def test_a_holder_that_is_silent_for_long_is_gone_and_forgotten_later(stores: tuple[PostgresStorage, PostgresStorage]) -> None:
    one, other = stores
    name = one.holders.id
    was_not_heard_of(other, seconds=50)
    assert other.holders.is_there(name)
    was_not_heard_of(other, seconds=20)
    assert not other.holders.is_there(name)
    was_not_heard_of(other, seconds=90_000)
    other.holders.sweep()
    with other.database.reading() as session:
        assert session.execute(f'SELECT id FROM "{other.database.schema}".holder', {}).fetchall() == []


def test_what_is_no_name_of_a_holder_is_damage(stores: tuple[PostgresStorage, PostgresStorage]) -> None:
    with pytest.raises(CorruptStoreError, match="no name of a holder"):
        stores[0].holders.is_there("'; DROP TABLE holder; --")


def test_an_episode_of_a_process_that_is_gone_is_closed_by_the_next_open(configured: Path, clock: ManualClock) -> None:
    with ALMA.from_config(configured, clock=clock) as alma:
        episode = alma.episode(agent="helena", task="Test the login form")
        with ALMA.from_config(configured, clock=clock) as other:
            assert other.get_episode(episode.id).status is EpisodeStatus.OPEN
            with pytest.raises(ConflictError, match="held by a running process"):
                other.resume_episode(episode.id)
        was_not_heard_of(alma.storage, seconds=70)  # type: ignore[arg-type] # the store of the configuration
        with ALMA.from_config(configured, clock=clock) as other:
            assert other.get_episode(episode.id).status is EpisodeStatus.ABANDONED
