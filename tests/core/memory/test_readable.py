"""A readable scope is computed once, and follows each partition that is added."""

import numpy as np

from alma.memory.scopes import ReadableScope, Scopes
from alma.types.identity import Partition, UserWall
from facade import OpenStore


def owners(scopes: Scopes, agent: str, *, include_shared: bool = True, user_id: str | None = None) -> set[str]:
    return {each.owner for each in scopes.readable(agent=agent, user_id=user_id, include_shared=include_shared)}


def test_a_scope_is_the_same_one_until_a_partition_is_added_and_then_has_it(open_store: OpenStore) -> None:
    alma = open_store(agents={"bob": {"share_with": ["ann"]}})
    alma.learn("ann", "Deploy", "success")
    scopes = Scopes(alma.storage.project("shop"), alma.agents, UserWall.SEPARATE)
    before = scopes.readable(agent="ann", user_id=None)
    assert scopes.readable(agent="ann", user_id=None) is before
    alma.learn("bob", "Deploy", "success")
    alma.learn("eve", "Deploy", "success")
    assert owners(scopes, "ann") == {"ann", "bob"}
    assert owners(scopes, "ann", include_shared=False) == {"ann"}
    assert owners(scopes, "bob") == {"bob"}
    alma.add_user_preference(user_id="u", category="style", preference="short")
    assert owners(scopes, "ann", user_id="u") == {"ann", "bob", "u"}
    assert owners(scopes, "ann") == {"ann", "bob"}


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
