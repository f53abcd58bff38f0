"""Who reads whose memories: a project is a wall, inside it agents share by rule."""

import pytest

from alma import ALMA, MemoryNotFoundError
from facade import OpenStore

TASK = "Deploy the auth service"


def _owners(alma: ALMA, reader: str, **given: object) -> set[str]:
    return {memory.agent for memory in alma.retrieve(TASK, reader, top_k=50, **given)}  # type: ignore[arg-type]


def _filled(alma: ALMA, *agents: str) -> ALMA:
    for agent in agents:
        alma.learn(agent, TASK, "success", f"the way of {agent}")
        alma.add_domain_knowledge(agent, "ops", f"{TASK} says {agent}")
    return alma


def test_without_rules_an_agent_reads_only_its_own(alma: ALMA) -> None:
    _filled(alma, "ann", "bob")
    assert _owners(alma, "ann") == {"ann"}
    assert _owners(alma, "stranger") == set()


def test_a_project_is_a_wall_even_for_the_same_agent(open_store: OpenStore) -> None:
    alma = open_store(agents={"ann": {"share_with": ["*"]}, "bob": {"inherit_from": ["ann"]}})
    other = _filled(alma.for_project("other"), "ann", "bob")
    assert _owners(other, "bob") == {"ann", "bob"}
    for reader in ("ann", "bob"):
        assert _owners(alma, reader) == set()
    (memory, *_) = other.retrieve(TASK, "ann")
    with pytest.raises(MemoryNotFoundError):
        alma.get(memory.id)
    assert alma.record_feedback(memory.id, signal="used", agent="ann").unknown == (memory.id,)
    assert alma.record_usage([memory.id], [memory.id], agent="ann").unknown == (memory.id,)


def test_share_with_opens_to_the_agents_it_names_and_to_no_other(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["bob"]}}), "ann", "bob", "eve")
    assert _owners(alma, "bob") == {"ann", "bob"}
    assert _owners(alma, "eve") == {"eve"}
    assert _owners(alma, "ann") == {"ann"}


def test_share_with_a_star_opens_to_all_also_to_agents_without_memories(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["*"]}}), "ann", "bob")
    assert _owners(alma, "bob") == {"ann", "bob"}
    assert _owners(alma, "newcomer") == {"ann"}


def test_inherit_from_reads_an_owner_that_declared_nothing(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"bob": {"inherit_from": ["ann"]}}), "ann", "bob", "eve")
    assert _owners(alma, "bob") == {"ann", "bob"}
    assert _owners(alma, "ann") == {"ann"}


@pytest.mark.parametrize("share_with", [[], ["eve"]])
def test_inherit_from_stops_at_an_owner_that_declared_others_or_nobody(open_store: OpenStore, share_with: list[str]) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": share_with}, "bob": {"inherit_from": ["ann"]}}), "ann", "bob")
    assert _owners(alma, "bob") == {"bob"}


def test_inherit_from_a_star_is_the_name_of_nobody(open_store: OpenStore) -> None:
    assert _owners(_filled(open_store(agents={"bob": {"inherit_from": ["*"]}}), "ann", "bob"), "bob") == {"bob"}


def test_sharing_is_not_passed_on(open_store: OpenStore) -> None:
    rules = {"ann": {"share_with": ["bob"]}, "bob": {"share_with": ["eve"]}, "eve": {"inherit_from": ["bob"]}}
    alma = _filled(open_store(agents=rules), "ann", "bob", "eve")
    assert _owners(alma, "eve") == {"bob", "eve"}


def test_a_reader_may_leave_the_shared_ones_out(open_store: OpenStore) -> None:
    rules = {"ann": {"share_with": ["bob"]}, "bob": {"inherit_from": ["eve"]}}
    alma = _filled(open_store(agents=rules), "ann", "bob", "eve")
    assert _owners(alma, "bob") == {"ann", "bob", "eve"}
    assert _owners(alma, "bob", include_shared=False) == {"bob"}


def test_names_of_agents_are_told_apart_by_case(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["Bob"]}}), "ann")
    assert _owners(alma, "bob") == set()


def test_a_shared_memory_says_whose_it_is_and_ones_own_does_not(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["bob"]}}), "ann", "bob")
    memories = alma.retrieve(TASK, "bob")
    assert {memory.agent: memory.metadata.get("shared_from") for memory in memories} == {"ann": "ann", "bob": None}
    assert "from ann" in memories.to_prompt()
    assert all("shared_from" not in alma.get(memory_id).metadata for memory_id in memories.ids)


def test_get_for_an_agent_gives_only_what_it_may_read(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["bob"]}}), "ann")
    memory = alma.retrieve(TASK, "ann").outcomes[0]
    assert alma.get(memory.id) == alma.get(memory.id, agent="ann") == memory
    assert alma.get(memory.id, agent="bob").id == memory.id
    with pytest.raises(MemoryNotFoundError, match="'eve' can see"):
        alma.get(memory.id, agent="eve")


def test_usage_and_feedback_of_what_an_agent_cannot_read_count_nothing(open_store: OpenStore) -> None:
    alma = _filled(open_store(agents={"ann": {"share_with": ["bob"]}}), "ann")
    memory = alma.retrieve(TASK, "ann").outcomes[0]
    report = alma.record_feedback(memory.id, signal="thumbs_up", agent="eve")
    assert (report.counted, report.unknown) == ((), (memory.id,))
    assert alma.record_usage([memory.id], [memory.id], agent="eve").unknown == (memory.id,)
    assert alma.record_usage([memory.id], [memory.id], agent="bob").used == (memory.id,)
    alma.record_feedback(memory.id, signal="thumbs_up", agent="bob")
    assert alma.verify().ok


def test_a_preference_is_read_only_with_its_users_id(alma: ALMA) -> None:
    preference = alma.add_user_preference("ann", "style", "Deploy on Mondays", agent="dev")
    assert alma.retrieve(TASK, "dev", user_id="ann").preferences == [preference]
    assert alma.retrieve(TASK, "qa", user_id="ann").preferences == [preference]
    assert alma.retrieve(TASK, "dev").preferences == []
    assert alma.retrieve(TASK, "dev", user_id="bob").preferences == []


def test_an_agent_named_like_a_user_does_not_read_its_preferences(open_store: OpenStore) -> None:
    alma = open_store(agents={"ann": {"share_with": ["*"]}, "dev": {"inherit_from": ["ann"]}})
    alma.add_user_preference("ann", "style", "Deploy on Mondays", agent="ann")
    for agent in ("ann", "dev", "user:ann"):
        assert alma.retrieve(TASK, agent).total_items == 0


def test_a_user_named_like_an_agent_does_not_open_that_agents_memories(alma: ALMA) -> None:
    _filled(alma, "ann")
    assert alma.retrieve(TASK, "dev", user_id="ann").total_items == 0


def test_preferences_come_also_without_the_shared_memories(alma: ALMA) -> None:
    alma.add_user_preference("ann", "style", "Deploy on Mondays")
    assert len(alma.retrieve(TASK, "dev", user_id="ann", include_shared=False).preferences) == 1


def test_a_preference_is_got_for_an_agent_only_with_its_users_id(alma: ALMA) -> None:
    preference = alma.add_user_preference("ann", "style", "short", agent="dev")
    assert alma.get(preference.id) == alma.get(preference.id, agent="dev", user_id="ann") == preference
    for user in (None, "bob"):
        with pytest.raises(MemoryNotFoundError, match="'dev' can see"):
            alma.get(preference.id, agent="dev", user_id=user)


def test_a_preference_that_was_shown_is_judged_and_counted_also_by_its_id_alone(alma: ALMA) -> None:
    preference = alma.add_user_preference("ann", "style", "short")
    alma.record_feedback(preference.id, signal="thumbs_up", agent="dev")
    alma.record_feedback(preference.id, signal="thumbs_up", agent="dev", user_id="ann")
    assert alma.record_usage([preference.id], [], agent="qa").ignored == (preference.id,)
    assert alma.record_usage([preference.id], [preference.id], agent="qa", user_id="ann").used == (preference.id,)
    assert alma.get_stats().journal_records == 5


def test_rules_of_an_agent_hold_in_every_project_of_the_store(open_store: OpenStore) -> None:
    alma = open_store(agents={"ann": {"share_with": ["bob"]}})
    assert _owners(_filled(alma.for_project("other"), "ann"), "bob") == {"ann"}


def test_rules_are_those_of_the_latest_opening(open_store: OpenStore) -> None:
    _filled(open_store(agents={"ann": {"share_with": ["bob"]}}), "ann")
    assert _owners(open_store(), "bob") == set()
