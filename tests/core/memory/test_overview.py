"""A project at a glance."""

from datetime import timedelta

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma.types.identity import Access
from facade import START, ManualClock, OpenStore


def test_growth_is_counted_by_day_and_kind(alma: ALMA, clock: ManualClock) -> None:
    alma.learn("hal", "Deploy the service", "success")
    alma.learn("vera", "Deploy the service", "failure")
    alma.add_domain_knowledge("hal", "auth", "A token lives for a day")
    clock.advance(days=2)
    alma.learn("hal", "Deploy it again", "success")

    growth = {(one.day, one.name): one.count for one in alma.overview().growth}
    today = START.date()
    assert growth == {(today, "outcome"): 2, (today, "domain_knowledge"): 1, (today + timedelta(days=2), "outcome"): 1}


def test_activity_counts_every_journal_record(alma: ALMA) -> None:
    ids = [alma.learn("hal", f"Deploy the service, part {number}", "success").id for number in range(3)]
    alma.record_usage(ids, ids[:1], agent="hal")
    view = alma.overview()

    assert {one.name: one.count for one in view.activity} == {"learn": 3, "record_usage": 1}
    assert [line.seq for line in view.journal] == [4, 3, 2, 1]
    assert (view.journal[0].operation, view.journal[0].actor, view.journal[0].is_purged) == ("record_usage", "hal", False)


def test_usage_is_summed_and_the_most_used_come_first(alma: ALMA) -> None:
    ids = [alma.learn("hal", f"Deploy the service, part {number}", "success").id for number in range(4)]
    alma.record_usage(ids[:3], ids[1:2], agent="hal")
    alma.record_usage(ids[:3], ids[1:3], agent="hal")
    alma.record_feedback(ids[2], signal="thumbs_up", agent="hal")
    alma.record_feedback(ids[0], signal="thumbs_down", agent="hal")
    view = alma.overview()

    assert (view.usage.used, view.usage.ignored, view.usage.ever_used) == (3, 3, 2)
    assert (view.usage.thumbs_up, view.usage.thumbs_down, view.usage.memories) == (1, 1, 3)
    assert [known.memory.id for known in view.memories] == [ids[2], ids[1], ids[3], ids[0]]
    first = view.memories[0]
    assert (first.used, first.ignored, first.thumbs_up, first.thumbs_down) == (1, 1, 1, 0)
    assert len(alma.overview(top=2).memories) == 2


def test_what_was_archived_is_counted_apart(alma: ALMA) -> None:
    gone = alma.learn("hal", "Deploy the service", "success").id
    kept = alma.learn("hal", "Deploy it again", "success").id
    alma.record_usage([gone], [gone], agent="hal")
    alma.forget(memory_ids=[gone])
    view = alma.overview()

    assert view.store.archived == 1
    assert [known.memory.id for known in view.memories] == [kept]
    assert sum(one.count for one in view.growth) == 1
    assert view.usage.used == 0


def test_owners_say_what_they_hold_and_whom_they_read(open_store: OpenStore) -> None:
    rules = {"vera": {"share_with": ["hal"]}, "hal": {"inherit_from": ["ivan"]}, "mute": {}}
    alma = open_store(agents=rules)
    for agent in ("hal", "vera", "ivan"):
        alma.learn(agent, "Deploy the service", "success")
    alma.add_user_preference("hal", "tone", "short answers")
    owners = {(owner.name, owner.is_user): owner for owner in alma.overview().owners}

    assert owners["hal", False].reads == {"vera": Access.SHARED, "ivan": Access.INHERITED}
    assert owners["hal", False].by_kind == {"outcome": 1}
    assert owners["hal", True].by_kind == {"user_preference": 1}
    assert owners["mute", False].total == 0
    assert owners["ivan", False].rules is None
    assert owners["vera", False].reads == {}


def test_episodes_tell_what_was_shown(alma: ALMA) -> None:
    memory = alma.learn("hal", "Deploy the service", "success")
    with alma.episode(agent="hal", task="Deploy the service again") as episode:
        episode.observe("as [O1] says")
        episode.succeed(strategy="slowly")
    view = alma.overview()

    assert [(one.task, one.outcome) for one in view.episodes] == [("Deploy the service again", "success")]
    assert {known.memory.id: (known.shown, known.used) for known in view.memories}[memory.id] == (1, 1)


def test_other_projects_do_not_show(alma: ALMA) -> None:
    alma.for_project("other").learn("hal", "Deploy the service", "success")
    view = alma.overview()

    assert (view.stats.total, view.growth, view.activity, view.memories, view.owners, view.journal) == (0, (), (), (), (), ())
    assert (view.store.passages, view.store.vectors, view.store.records) == (0, 0, 0)
    assert view.store.database_bytes > 0


def test_sizes_are_those_of_what_is_stored(alma: ALMA) -> None:
    alma.learn("hal", "Deploy the service", "success", "by hand")
    store = alma.overview().store

    assert (store.passages, store.vectors, store.vector_bytes) == (1, 2, 4 * store.embedder.dimension)  # the strategy has one
    assert store.text_bytes == len("Deploy the service") + len("by hand")
    assert store.verified is not None
    assert store.verified.ok
    assert alma.overview(verify=False).store.verified is None


@pytest.mark.parametrize("given", [{"top": 0}, {"top": 10_000}, {"recent": -1}, {"recent": "x"}])
def test_bad_numbers_are_refused(unchanging: ALMA, given: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        unchanging.overview(**given)


def test_a_memory_of_an_earlier_event_counts_on_the_day_of_the_event(alma: ALMA, clock: ManualClock) -> None:
    past = clock.now - timedelta(days=90)
    alma.add_conversation([("ann", "I prefer short answers")], "hal", "chat", at=past)
    alma.learn("hal", "Deploy", "success", timestamp=past)
    alma.learn("hal", "Deploy it again", "success")

    days = {one.day for one in alma.overview().growth}
    assert days == {past.date(), START.date()}
    assert {one.name for one in alma.overview().growth if one.day == START.date()} == {"outcome"}


@pytest.mark.parametrize(("users", "number"), [("separate", 3), ("isolated", 3), ("shared", 0)])
def test_outcomes_behind_the_wall_of_a_user_are_counted_and_their_ways_left_out(
    open_store: OpenStore, users: str, number: int
) -> None:
    alma = open_store(users=users)
    for user in ("ann", "ann", "bob", None):
        alma.learn("hal", "Deploy the service", "success", f"by the script of {user}", user_id=user)
    view = alma.overview(verify=False).learning

    assert view.outcomes_of_users == number
    assert sum(len(one.rows) for one in view.classes) == (1 if number else 3)
