"""Relations: when they hold, what ends them, and what takes them back."""

from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma.errors import ScopeViolationError, ValidationError
from graph_scenes import day, intervals, targets


def employ(alma: ALMA, firm: str, year: int, **more: Any) -> None:
    alma.graph.relate("Ann", "works at", firm, agent="dev", valid_from=day(year), source_type="person", **more)


def test_a_new_employer_ends_the_former_and_a_return_is_a_third_interval(alma: ALMA) -> None:
    for firm, year in (("Acme", 2020), ("Beta", 2021), ("Acme", 2022)):
        employ(alma, firm, year)
    assert intervals(alma.graph.timeline("Ann")) == [
        ("Acme", day(2020), day(2021)),
        ("Beta", day(2021), day(2022)),
        ("Acme", day(2022), None),
    ]
    assert targets(alma.graph.relations("ann", as_of=day(2021, 6))) == ["Beta"]


def test_of_many_relations_as_many_of_the_newest_are_given_as_asked(alma: ALMA) -> None:
    for firm, year in (("Acme", 2020), ("Beta", 2021), ("Corex", 2022)):
        alma.graph.relate("Ann", "visited", firm, agent="dev", valid_from=day(year))
    assert targets(alma.graph.timeline("Ann", limit=2)) == ["Beta", "Corex"]
    assert targets(alma.graph.relations("Ann", limit=2)) == ["Corex", "Beta"]


def test_a_relation_that_was_replaced_names_the_one_that_replaced_it(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    employ(alma, "Beta", 2021, valid_to=day(2022))
    employ(alma, "Corex", 2022)
    first, second, third = alma.graph.timeline("Ann")
    assert first.properties["ended_by"] == second.id
    assert "ended_by" not in second.properties
    assert "ended_by" not in third.properties


def test_late_news_ends_nothing_newer(alma: ALMA) -> None:
    employ(alma, "Beta", 2022)
    employ(alma, "Acme", 2020)
    assert intervals(alma.graph.timeline("Ann")) == [("Acme", day(2020), day(2022)), ("Beta", day(2022), None)]


def test_of_two_that_began_at_one_time_the_one_said_last_holds(alma: ALMA) -> None:
    employ(alma, "Wrong", 2020)
    employ(alma, "Acme", 2020)
    assert intervals(alma.graph.timeline("Ann")) == [("Acme", day(2020), None)]


def test_what_is_said_twice_is_one_relation(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    employ(alma, "Acme", 2021)
    assert intervals(alma.graph.relations("Ann", "works_for")) == [("Acme", day(2020), None)]


def test_types_that_were_not_declared_hold_side_by_side(alma: ALMA) -> None:
    for friend, year in (("Bob", 2020), ("Carl", 2021), ("Bobby", 2022)):
        alma.graph.relate("Ann", "knows", friend, agent="dev", valid_from=day(year))
    assert targets(alma.graph.relations("Ann", "knows")) == ["Bobby", "Carl", "Bob"]


def test_a_caller_may_say_that_a_target_replaces_the_former_one(alma: ALMA) -> None:
    for colour, year in (("red", 2020), ("blue", 2021)):
        alma.graph.relate("Ann", "favourite colour", colour, agent="dev", valid_from=day(year), replaces=True)
    assert targets(alma.graph.relations("Ann", "favourite_colour")) == ["blue"]


def test_a_configuration_declares_types_with_one_target(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    block = "graph:\n  functional: [captain of]\n"
    path.write_text(f"project_id: p\nembedding_provider: hash\nstorage_dir: {tmp_path}\n{block}", "utf-8")
    with ALMA.from_config(path) as alma:
        for team, year in (("Reds", 2020), ("Blues", 2021)):
            alma.graph.relate("Ann", "captain of", team, agent="dev", valid_from=day(year))
        assert targets(alma.graph.relations("Ann")) == ["Blues"]


def test_an_end_closes_the_relation_that_held(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    alma.graph.relate("Ann", "works_for", "Acme", agent="dev", valid_to=day(2021))
    assert intervals(alma.graph.timeline("Ann")) == [("Acme", day(2020), day(2021))]
    assert alma.graph.relations("Ann") == []


def test_an_end_before_the_beginning_is_refused(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="later than valid_from"):
        employ(alma, "Acme", 2020, valid_to=day(2019))
    assert alma.graph.entity("Ann") is None


def test_a_relation_begins_with_the_memory_it_rests_on_and_dies_with_it(alma: ALMA) -> None:
    said = alma.add_domain_knowledge(agent="dev", domain="people", fact="Ann works for Acme.")
    made = alma.graph.relate("Ann", "works_for", "Acme", agent="dev", evidence=said.id)
    assert (made.valid_from, made.properties["evidence"]) == (said.seen_at, [said.id])
    alma.forget(memory_ids=[said.id])
    assert alma.graph.entity("Acme") is None
    alma.undo(to=alma.get_stats().journal_records - 1)
    assert targets(alma.graph.relations("Ann")) == ["Acme"]
    alma.purge([said.id])
    assert alma.graph.entity("Acme") is None
    assert alma.verify().ok


def test_a_relation_stays_while_one_of_its_memories_does(alma: ALMA) -> None:
    said = [alma.add_domain_knowledge(agent="dev", domain="people", fact=f"Ann works for Acme {one}.") for one in "ab"]
    made = alma.graph.relate("Ann", "works_for", "Acme", agent="dev", evidence=[one.id for one in said])
    assert made.properties["evidence"] == [one.id for one in said]
    alma.purge([said[0].id])
    (left,) = alma.graph.relations("Ann")
    assert left.properties["evidence"] == [said[1].id]


def test_the_event_that_ended_a_relation_can_be_undone(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    before = alma.get_stats().journal_records
    employ(alma, "Beta", 2021)
    alma.undo(to=before)
    assert intervals(alma.graph.timeline("Ann")) == [("Acme", day(2020), None)]


def test_what_was_taken_back_never_held_but_is_known_to_have_been_said(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    employ(alma, "Wrong", 2021)
    said = alma.graph.relations("Ann")[0].created_at
    assert alma.graph.retract(alma.graph.relations("Ann")[0], agent="dev") == 1
    assert intervals(alma.graph.timeline("Ann")) == [("Acme", day(2020), None)]
    assert targets(alma.graph.relations("Ann", known_by=said)) == ["Wrong"]


def test_others_take_back_nothing(alma: ALMA) -> None:
    employ(alma, "Acme", 2020)
    (made,) = alma.graph.relations("Ann")
    with pytest.raises(ValidationError, match="no relation that this reader may see"):
        alma.graph.retract(made.id, agent="other")


def test_who_reads_but_did_not_state_it_takes_back_nothing(tmp_path: Path) -> None:
    agents = {"dev": {"share_with": ["other"]}}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=agents) as alma:
        employ(alma, "Acme", 2020)
        with pytest.raises(ScopeViolationError, match="by those who stated it"):
            alma.graph.retract(alma.graph.relations("Ann", agent="other")[0], agent="other")


def test_a_path_joins_two_entities_in_either_direction(alma: ALMA) -> None:
    for source, kind, target in (("Ann", "works_for", "Acme"), ("Acme", "located_in", "Denver"), ("Bob", "lives_in", "Denver")):
        alma.graph.relate(source, kind, target, agent="dev", valid_from=day(2020))
    found = alma.graph.path("Ann", "Bob")
    assert [(one.properties["source"], one.properties["target"]) for one in found] == [
        ("Ann", "Acme"),
        ("Acme", "Denver"),
        ("Bob", "Denver"),
    ]
    assert alma.graph.path("Ann", "Bob", 2) == []
    assert alma.graph.path("Ann", "Bob", as_of=day(2019)) == []


def test_neighbours_are_found_by_hops(alma: ALMA) -> None:
    for source, target in (("a", "b"), ("b", "c"), ("c", "d")):
        alma.graph.relate(source, "linked_to", target, agent="dev")
    assert [one.name for one in alma.graph.around(["a"], max_hops=2)] == ["a", "b", "c"]


def test_a_profile_says_what_held_and_what_was_said_within_its_budget(alma: ALMA) -> None:
    said = alma.add_domain_knowledge(agent="dev", domain="people", fact="Ann joined Acme as an analyst. The roof leaks.")
    employ(alma, "Acme", 2020, evidence=said.id)
    employ(alma, "Beta", 2021)
    page = alma.graph.about("Ann")
    assert page.lines[1] == "works for: Beta (since 2021-01-01); Acme (from 2020-01-01 until 2021-01-01)"
    assert page.lines[2].endswith("Ann joined Acme as an analyst.")
    assert "roof" not in str(page)
    short = alma.graph.about("Ann", max_tokens=20)
    assert (short.lines, short.left_out) == (["Ann (person)", "works for: Beta (since 2021-01-01)"], 2)


def test_secrets_in_what_is_stated_are_replaced(alma: ALMA) -> None:
    key = "ghp_" + "a1B2" * 9
    made = alma.graph.relate("Ann", "uses", "GitHub", agent="dev", properties={"token": key})
    assert key not in str(made)


def test_another_process_sees_what_was_stated(alma: ALMA, tmp_path: Path) -> None:
    employ(alma, "Acme", 2020)
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as other:
        assert targets(other.graph.relations("Ann")) == ["Acme"]
        employ(alma, "Beta", 2021)
        assert targets(other.graph.relations("Ann")) == ["Beta"]


def test_an_export_takes_the_graph_along(alma: ALMA, tmp_path: Path) -> None:
    employ(alma, "Acme", 2020)
    alma.graph.relate("Annie", "knows", "Bob", agent="dev")
    alma.graph.merge("Ann", "Annie", agent="dev")
    alma.export(tmp_path / "shop.json")
    with ALMA.open(tmp_path / "other", project_id="shop", embedding_provider="hash") as other:
        other.import_from(tmp_path / "shop.json")
        assert sorted(targets(other.graph.relations("Annie"))) == ["Acme", "Bob"]
        assert other.content_hash() == alma.content_hash()
