"""What a reader may read is worked out once, follows what is added, and takes a bounded room."""

import numpy as np
import pytest

from alma import ALMA
from alma.memory.scopes import ReadableScope, Scopes
from alma.types.scope import Partition, UserWall
from facade import OpenStore


def owners(alma: ALMA, agent: str, *, include_shared: bool = True, user_id: str | None = None) -> set[str]:
    return {each.owner for each in alma._room.scopes.readable(agent=agent, user_id=user_id, include_shared=include_shared)}


def test_a_scope_is_the_same_one_until_a_partition_is_added_and_then_has_it(open_store: OpenStore) -> None:
    alma = open_store(agents={"bob": {"share_with": ["ann"]}})
    alma.learn("ann", "Deploy", "success")
    before = alma._room.scopes.readable(agent="ann", user_id=None)
    assert alma._room.scopes.readable(agent="ann", user_id=None) is before
    alma.learn("bob", "Deploy", "success")
    alma.learn("eve", "Deploy", "success")
    assert owners(alma, "ann") == {"ann", "bob"}
    assert owners(alma, "ann", include_shared=False) == {"ann"}
    assert owners(alma, "bob") == {"bob"}
    alma.add_user_preference(user_id="u", category="style", preference="short")
    assert owners(alma, "ann", user_id="u") == {"ann", "bob", "u"}
    assert owners(alma, "ann") == {"ann", "bob"}


def test_partitions_outside_a_scope_are_closed_whatever_their_number() -> None:
    partitions = {
        3: Partition(3, False, "ann", "outcome"),
        5: Partition(5, True, "uma", "user_preference"),
        9: Partition(9, False, "bob", "outcome"),
    }
    scope = ReadableScope.of([partitions[3], partitions[5]], partitions)
    asked = np.array([3, 4, 5, 9, 1_000_000])
    assert scope.is_open(asked).tolist() == [True, False, True, False, False]
    assert scope.always_hold(asked).tolist() == [False, False, True, False, False]
    assert scope.kind_numbers(asked).tolist() == [0, -1, 1, -1, -1]
    assert scope.owners == {"ann"}


@pytest.mark.slow
def test_the_scopes_of_ten_thousand_readers_take_a_bounded_room(alma: ALMA) -> None:
    alma.learn("ann", "Deploy", "success")
    few = alma._room.scopes.readable(agent="ann", user_id=None)
    scopes = Scopes(alma._room.project, {}, UserWall.SEPARATE, most_bytes=100 * few.size)
    first, *_, newest = [scopes.readable(agent="ann", user_id=f"user-{number}") for number in range(10_000)]
    assert scopes.readable(agent="ann", user_id="user-9999") is newest
    assert scopes.readable(agent="ann", user_id="user-0") is not first
    large = {row: Partition(row, False, "ann", "outcome") for row in range(1, 50_000)}
    whole = scopes.readable(agent="ann", user_id=None, partitions=large)
    assert scopes.readable(agent="ann", user_id=None, partitions=large) is whole
    assert scopes.readable(agent="ann", user_id="user-9999") is not newest
