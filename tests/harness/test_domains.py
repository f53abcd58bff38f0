"""Schemas of domains: what agents learn in them, what they refuse, and the memories that start with them."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ScopeViolationError, ValidationError
from alma.domains import DOMAINS, DomainMemoryFactory, DomainSchema, EntityType, RelationshipType, get_research_schema
from alma.testing import FixedClock

EVENTS = (
    "Debug the crash of the login service",
    "Negotiate the price with the buyer",
    "Search the literature on sleep",
    "Refund the returned shoes",
    "Write a headline for the article",
    "Plan the week with the team",
)
"""A stream of events of all six domains."""

REFUSED = "refused"


@pytest.fixture
def factory() -> DomainMemoryFactory:
    return DomainMemoryFactory()


def classes(alma: ALMA, agent: str) -> list[str | None]:
    """How an agent files each event, or that it may not learn it."""
    found: list[str | None] = []
    for event in EVENTS:
        try:
            found.append(alma.learn(agent, event, True, "as before").task_type)
        except ScopeViolationError:
            found.append(REFUSED)
    return found


def test_one_stream_of_events_has_other_classes_and_other_refusals_under_each_schema(
    tmp_path: Path, factory: DomainMemoryFactory
) -> None:
    found: dict[str, list[str | None]] = {}
    for name in DOMAINS:
        with factory.create_alma(name, "shop", storage_dir=tmp_path / name, agents=["dev"], embedding_provider="minilm") as alma:
            found[name] = classes(alma, "dev")

    assert len({tuple(each) for each in found.values()}) == len(DOMAINS)
    own = {
        "coding": (0, "debugging"),
        "sales": (1, "price negotiation"),
        "research": (2, "literature search"),
        "customer_support": (3, "refunds and returns"),
        "content_creation": (4, "headlines"),
        "general": (5, "planning"),
    }
    assert {name: found[name][place] for name, (place, _) in own.items()} == {name: said for name, (_, said) in own.items()}
    refusals = {name: [place for place, said in enumerate(each) if said == REFUSED] for name, each in found.items()}
    assert 1 in refusals["coding"]
    assert 0 in refusals["sales"]
    assert 3 in refusals["content_creation"]
    assert all(found[name][place] != REFUSED for name, (place, _) in own.items())


@pytest.mark.parametrize("name", DOMAINS)
def test_each_schema_is_whole(name: str) -> None:
    schema = DOMAINS[name]()
    ends = {end for relation in schema.relationship_types for end in (relation.source, relation.target)}

    assert schema.name == name
    assert schema.description
    assert schema.excluded_categories
    assert ends <= {entity.name for entity in schema.entity_types}
    scope = schema.to_scope()
    assert scope.domain == name
    assert all(map(scope.is_allowed, schema.learning_categories))
    assert not any(map(scope.is_allowed, schema.excluded_categories))


def test_a_memory_starts_with_the_rules_and_the_kinds_of_things_of_its_domain(
    tmp_path: Path, factory: DomainMemoryFactory
) -> None:
    with factory.create_alma(get_research_schema(), "sleep", storage_dir=tmp_path, embedding_provider="hash") as alma:
        assert alma.agents["agent"].domain == "research"
        alma.add("paper", agent="agent", name="Sleep and memory", authors="Ada, Bob", finding="Naps help.")
        with pytest.raises(ValidationError, match="colour"):
            alma.add("paper", agent="agent", name="Sleep", colour="blue")
        with pytest.raises(ScopeViolationError):
            alma.add_domain_knowledge("agent", "personal opinions", "I like naps")
        assert "Naps help." in alma.retrieve("naps", "agent").to_prompt()
    with factory.create_alma("research", "sleep", storage_dir=tmp_path, embedding_provider="hash") as again:
        assert set(again.memory_types()) == {"paper", "dataset", "hypothesis", "method"}


def test_agents_have_rules_of_their_own_beside_those_of_the_domain(tmp_path: Path, factory: DomainMemoryFactory) -> None:
    agents: dict[str, dict[str, Any]] = {"senior": {"share_with": ["junior"]}, "junior": {"min_occurrences_for_heuristic": 2}}
    with factory.create_alma("coding", "shop", storage_dir=tmp_path, agents=agents, embedding_provider="hash") as alma:
        assert alma.agents["senior"].shares_with("junior")
        assert alma.agents["junior"].min_occurrences_for_heuristic == 2
        assert alma.agents["junior"].can_learn == DOMAINS["coding"]().learning_categories


def test_a_memory_for_one_agent(tmp_path: Path, factory: DomainMemoryFactory) -> None:
    with factory.create_alma_for_agent(
        "coding",
        "shop",
        "helena",
        storage_dir=tmp_path,
        share_with=["qa"],
        inherit_from=["lead"],
        embedding_provider="hash",
        clock=FixedClock(),
    ) as alma:
        scope = alma.agents["helena"]
        assert (scope.share_with, scope.inherit_from, scope.domain) == (("qa",), ("lead",), "coding")


def test_a_schema_of_ones_own(factory: DomainMemoryFactory) -> None:
    schema = factory.create_schema(
        "sales",
        {
            "entity_types": [{"name": "lead", "attributes": ["stage", "value"]}],
            "relationship_types": [{"name": "follows", "source": "lead", "target": "lead"}],
            "learning_categories": ["objection_handling", "closing_techniques"],
        },
    )

    assert schema.entity_types == (EntityType(name="lead", attributes=("stage", "value")),)
    assert schema.relationship_types == (RelationshipType(name="follows", source="lead", target="lead"),)
    assert schema.get_entity_type("lead") is schema.entity_types[0]
    assert schema.get_entity_type("deal") is None
    assert schema.to_scope().can_learn == ("objection_handling", "closing_techniques")
    assert isinstance(schema, DomainSchema)
    assert not schema.excluded_categories


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({}, "learning_categories"),
        ({"learning_categories": []}, "learning_categories"),
        ({"learning_categories": ["a"], "excluded_categories": ["A"]}, "both learned and excluded"),
        ({"learning_categories": ["a"], "colours": []}, "colours"),
        ({"learning_categories": ["a"], "entity_types": [{"name": "Big Thing"}]}, "Big Thing"),
        ({"learning_categories": ["a"], "name": "b"}, "other than its name"),
        ({"learning_categories": ["a"], "entity_types": [{"name": "lead", "attributes": ["kind"]}]}, "kind"),
        (["a"], "mapping"),
    ],
)
def test_an_invalid_schema_is_refused(factory: DomainMemoryFactory, definition: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        factory.create_schema("mine", definition)


def test_invalid_rules_and_names_are_refused(tmp_path: Path, factory: DomainMemoryFactory) -> None:
    with pytest.raises(ValidationError, match="min_occurrences"):
        DOMAINS["coding"]().to_scope(min_occurrences_for_heuristic=0)
    with pytest.raises(ValidationError, match="no domain"):
        factory.create_alma("cooking", "shop", storage_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def configured(folder: Path, rules: str) -> ALMA:
    path = folder / "config.yaml"
    path.write_text(f"alma: {{project_id: shop, embedding_provider: hash, agents: {{helena: {rules}}}}}")
    return ALMA.from_config(path)


def test_a_domain_in_the_configuration_selects_the_schema(tmp_path: Path) -> None:
    coding = DOMAINS["coding"]()
    with configured(tmp_path, "{domain: coding}") as alma:
        assert alma.agents["helena"].can_learn == coding.learning_categories
        assert alma.learn("helena", "Find the bug", True, task_type="debugging").task_type == "debugging"
        with pytest.raises(ScopeViolationError, match="marketing copy"):
            alma.learn("helena", "Write the advert", True, task_type="marketing copy")


def test_rules_in_the_configuration_take_precedence_over_its_domain(tmp_path: Path) -> None:
    with configured(
        tmp_path, "{domain: coding, can_learn: [selectors, marketing copy], min_occurrences_for_heuristic: 5}"
    ) as alma:
        scope = alma.agents["helena"]
        assert (scope.can_learn, scope.min_occurrences_for_heuristic) == (("selectors", "marketing copy"), 5)
        assert scope.cannot_learn == ("customer conversations", "sales negotiation")
    with configured(tmp_path, "{domain: coding, can_learn: [], cannot_learn: [payroll]}") as alma:
        assert (alma.agents["helena"].can_learn, alma.agents["helena"].cannot_learn) == ((), ("payroll",))


def test_a_domain_of_another_name_sets_no_rules_and_a_warning_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with configured(tmp_path, "{domain: cooking}") as alma:
        assert "agents.helena.domain: there is no schema 'cooking', so it sets no rules" in caplog.messages
        assert alma.agents["helena"].can_learn == ()


def test_a_domain_of_another_name_beside_rules_is_a_label(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with configured(tmp_path, "{domain: cooking, can_learn: [recipes]}"):
        assert caplog.messages == []


@pytest.mark.parametrize("module", ["domains", "harness", "progress", "session", "stack", "workflow"])
def test_a_module_of_the_core_that_stands_for_one_of_the_package_has_all_of_its_names(module: str) -> None:
    forwarded, own = import_module(f"alma.{module}"), import_module(f"alma_harness.{module}")
    assert {name: getattr(forwarded, name) for name in forwarded.__all__} == {name: getattr(own, name) for name in own.__all__}


def test_without_the_package_a_domain_sets_no_rules_and_a_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("alma.extensions.find_spec", lambda name: None)

    with configured(tmp_path, "{domain: coding}") as alma:
        assert alma.agents["helena"].can_learn == ()
    assert '"alma-core[harness] @ git+URL' in caplog.text


def test_the_calls_of_the_interface_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    factory = DomainMemoryFactory()
    with factory.create_alma(get_research_schema(), "my-research-project") as alma:
        assert alma.project_id == "my-research-project"
    schema = factory.create_schema(
        "sales",
        {
            "entity_types": [{"name": "lead", "attributes": ["stage", "value"]}],
            "learning_categories": ["objection_handling", "closing_techniques"],
        },
    )
    assert [entity.name for entity in schema.entity_types] == ["lead"]
    assert schema.learning_categories == ("objection_handling", "closing_techniques")
