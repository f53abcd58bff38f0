"""Entities and relations of texts, by rules and by a model that is held to the text."""

import json

import pytest
from benchmarks.graph import score_sentences

from alma.errors import ConfigurationError
from alma.graph import Entity, EntityExtractor, ExtractionConfig

SEED = "Alice from Acme Corp reviewed the PR that Bob submitted."


def relations(text: str, **more: object) -> set[tuple[str, str, str]]:
    entities, found = EntityExtractor().extract(text, **more)
    names = {one.id: one.name for one in entities}
    return {(names[one.source_id], one.relation_type, names[one.target_id]) for one in found}


def names(text: str) -> list[str]:
    return [one.name for one in EntityExtractor().extract(text)[0]]


def test_the_published_sentence_gives_three_entities_and_for_whom_alice_works() -> None:
    assert names(SEED) == ["Alice", "Acme Corp", "Bob"]
    assert relations(SEED) == {("Alice", "WORKS_FOR", "Acme Corp")}


def test_precision_holds_on_sentences_that_the_rules_were_not_tuned_on() -> None:
    found = score_sentences("kept")
    assert found["entity_precision"] >= 0.90
    assert found["relation_precision"] >= 0.90
    assert found["entity_recall"] >= 0.75
    assert found["relation_recall"] >= 0.75


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("See src/auth/login.py, please.", "src/auth/login.py", "file"),
        ("Mail ann@example.com.", "ann@example.com", "email"),
        ("It is at https://a.example/x?y=1.", "https://a.example/x?y=1", "url"),
        ("Ask @kim about it.", "@kim", "handle"),
        ("It is blocked by PAY-31.", "PAY-31", "reference"),
        ("Use v1.2.3 of it.", "v1.2.3", "version"),
        ("The function get_user fails.", "get_user", "identifier"),
        ("We run Kubernetes 1.29 there.", "Kubernetes 1.29", "version"),
        ("A message from Umbrella Ltd came.", "Umbrella Ltd", "organization"),
        ("I met Dr. Chen.", "Chen", "person"),
    ],
)
def test_an_exact_sort_is_found_with_its_type(text: str, name: str, kind: str) -> None:
    assert (name, kind) in [(one.name, one.entity_type) for one in EntityExtractor().extract(text)[0]]


@pytest.mark.parametrize(
    "text",
    [
        "Everything went well. Restart the worker.",
        "WARNING: THE DISK IS FULL",
        "On Monday in January I said no.",
        "Choose one and/or the other, at 10/12.",
        "Refund approved. Order cancelled.",
        "TODO: ask for the PDFs and the URLs.",
    ],
)
def test_capitals_that_say_nothing_are_no_names(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Eva no longer works for Globex.",
        "Does Ingrid work for Initech?",
        "If Harry joined Hooli, we would lose him.",
        "Maybe Carol reviewed #12.",
        "Carol didn't review #12.",
        "Please ask whether Carol fixed #12.",
        "Neither Eva nor Harry works for Globex.",
        "Nobody works for Globex.",
        "Nothing depends on Redis.",
        "Everyone works for Globex.",
        "I doubt that Eva works for Globex.",
        "It is false that Eva works for Globex.",
        "Eva denied that Harry works for Globex.",
    ],
)
def test_what_is_denied_doubted_asked_or_wished_states_no_relation(text: str) -> None:
    assert relations(text) == set()


def test_a_year_in_the_sentence_is_when_it_began() -> None:
    (found,) = EntityExtractor().extract("Ravi joined Initech in March 2021.")[1]
    assert found.valid_from is not None
    assert f"{found.valid_from:%Y-%m}" == "2021-03"


def test_known_entities_are_found_wherever_they_stand_with_their_types() -> None:
    known = [Entity("tool:kafka", "Kafka", "tool"), Entity("team:data team", "data team", "team")]
    entities, found = EntityExtractor().extract("Kafka lags. The data team uses Kafka.", known)
    assert {one.id for one in entities} == {"tool:kafka", "team:data team"}
    assert [(one.source_id, one.target_id) for one in found] == [("team:data team", "tool:kafka")]


def test_a_conversation_is_read_by_its_speakers() -> None:
    messages = [
        {"role": "user", "content": "I work at Wayne Enterprises."},
        {"role": "assistant", "content": "I use Slack, and Alfred uses Emacs."},
        {"role": "user", "name": "Bruce", "content": "I live in Gotham."},
    ]
    entities, found = EntityExtractor().extract_from_conversation(messages)
    by_id = {one.id: one.name for one in entities}
    assert {(by_id[one.source_id], one.relation_type, by_id[one.target_id]) for one in found} == {
        ("user", "WORKS_FOR", "Wayne Enterprises"),
        ("Alfred", "USES", "Emacs"),
        ("Bruce", "LIVES_IN", "Gotham"),
    }


def test_a_hostile_text_ends_in_time_and_is_data() -> None:
    for text in (
        "A" * 50_000,
        "Ann " * 20_000,
        "a/" * 20_000,
        "@" * 20_000,
        "\ue0000\ue001 works for \ue0001\ue001",
        "Ann's " * 9_000,
    ):
        EntityExtractor().extract(text)


def test_a_model_names_only_what_the_text_says() -> None:
    answer = {
        "entities": [
            {"name": "Alice", "type": "person"},
            {"name": "Acme Corp", "type": "organization"},
            {"name": "Mallory", "type": "person"},
        ],
        "relations": [
            {"source": "Alice", "type": "WORKS_FOR", "target": "Acme Corp", "sentence": SEED},
            {"source": "Alice", "type": "OWNS", "target": "Acme Corp", "sentence": "Alice owns Acme Corp."},
            {"source": "Alice", "type": "RELATED_TO", "target": "Acme Corp", "sentence": SEED},
            {"source": "Mallory", "type": "WORKS_FOR", "target": "Acme Corp", "sentence": SEED},
        ],
    }
    extractor = EntityExtractor(ExtractionConfig(llm=lambda prompt: json.dumps(answer)))
    entities, found = extractor.extract(SEED)
    assert [one.name for one in entities] == ["Alice", "Acme Corp"]
    assert [(one.source_id, one.relation_type, one.confidence) for one in found] == [("person:alice", "WORKS_FOR", 0.7)]


def test_rules_read_a_text_where_the_model_fails(caplog: pytest.LogCaptureFixture) -> None:
    extractor = EntityExtractor(ExtractionConfig(llm=lambda prompt: "no JSON"))
    assert [one.name for one in extractor.extract(SEED)[0]] == ["Alice", "Acme Corp", "Bob"]
    assert "rules find the entities" in caplog.text


def test_a_configuration_is_one() -> None:
    with pytest.raises(ConfigurationError, match="must be an ExtractionConfig"):
        EntityExtractor({"provider": "openai"})


def test_a_name_of_two_words_that_begins_a_sentence_is_whole_in_its_relation() -> None:
    assert relations("Ann Smith works for Acme.") == {("Ann Smith", "WORKS_FOR", "Acme")}
