"""What is held of users whom a reader does not act for: each cell once, and until it can be told."""

from alma.learning.other_users import Held, OtherUsers
from alma.types.evidence import Evidence
from alma.types.partition import owner_name


def cell(user: str, strategy: str = "Blue-green", task: str = "Deploy the shop") -> Held:
    evidence = Evidence(
        id=f"{user} {strategy} {task}",
        owner=owner_name("dev", user),
        task_class=task,
        strategy_hash=strategy.lower(),
        strategy=strategy,
        task=task,
    )
    return Held(evidence, (0, 1.0), None, None)


def held(others: OtherUsers) -> list[str]:
    return [each for cells in others.held.values() for each in cells]


def test_the_words_of_one_user_are_held_and_not_told() -> None:
    others = OtherUsers()

    assert others.add(cell("ann")) == []
    assert held(others) == [cell("ann").evidence.id]


def test_what_a_second_user_brought_is_told_and_held_no_more() -> None:
    others = OtherUsers()
    others.add(cell("ann"))
    others.add(cell("ann", "In place"))

    told = others.add(cell("bob"))

    assert [each.evidence.id for each in told] == [cell("ann").evidence.id, cell("bob").evidence.id]
    assert held(others) == [cell("ann", "In place").evidence.id]


def test_what_the_reader_tried_itself_is_told_and_held_no_more() -> None:
    others = OtherUsers()
    others.add(cell("ann"))

    assert [each.evidence.id for each in others.note_own("blue-green")] == [cell("ann").evidence.id]
    assert held(others) == []
    assert others.note_own("blue-green") == []


def test_a_cell_of_a_strategy_that_was_told_is_told_as_it_is_now() -> None:
    others = OtherUsers()
    for user in ("ann", "bob"):
        others.add(cell(user))
    changed = cell("ann")._replace(first=(7, 0.0))

    assert [each.first for each in others.add(changed)] == [(7, 0.0)]
    assert held(others) == []


def test_what_is_shared_is_told_at_once() -> None:
    others = OtherUsers(is_shared=True)

    assert others.add(cell("ann")) == [cell("ann")]
    assert held(others) == []
