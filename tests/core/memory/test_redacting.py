"""Secrets reach nothing that is stored, by whatever way a text comes in. Every secret here was made up."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from alma import ALMA, AlmaError, ConfigurationError, ValidationError
from facade import OpenStore
from secret_writes import OLD_WRITES, TEXT, TOKEN


def imported(alma: ALMA) -> None:
    with TemporaryDirectory() as folder, ALMA.open(folder, project_id="old", embedding_provider="hash", redact="off") as old:
        for write in OLD_WRITES:
            write(old)
        file = io.BytesIO()
        old.export(file, vectors=True)
    assert TOKEN in file.getvalue().decode()
    file.seek(0)
    alma.import_from(file)


WRITES = [*OLD_WRITES, imported]


@pytest.mark.parametrize("write", WRITES)
def test_no_secret_is_in_the_files_the_prompt_or_the_export(alma: ALMA, tmp_path: Path, write: Callable[[ALMA], None]) -> None:
    write(alma)
    prompt = alma.retrieve(task=TEXT, agent="dev", user_id="ann", top_k=20).to_prompt(20_000)
    alma.export(tmp_path / "export.jsonl")

    alma.close()

    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[secret:github_token:" in held
    assert b"[secret:github_token:" in prompt.encode()
    assert TOKEN.encode() not in held
    assert TOKEN not in prompt


@pytest.mark.parametrize("write", WRITES)
def test_the_store_is_whole_after_it(alma: ALMA, write: Callable[[ALMA], None]) -> None:
    write(alma)

    assert alma.verify().problems == ()


def test_an_import_without_its_secrets_learns_on_where_it_stopped(alma: ALMA) -> None:
    imported(alma)
    before = alma.strategies(task=TEXT, agent="dev").rows[0]

    alma.learn("dev", TEXT, "success", TEXT)

    after = alma.strategies(task=TEXT, agent="dev").rows[0]
    assert after.strategy == before.strategy
    assert after.trials == before.trials + 1


def test_a_key_of_several_lines_is_replaced_before_a_turn_is_cut_into_sentences(alma: ALMA) -> None:
    line = "q7Zk2VxT9mLw4RsB8nYc3HdJ6fGpa1B2c3D4q7Zk2VxT9mLw4RsB8nYc3HdJ6fGp"
    key = f"-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----"

    found = alma.add_conversation([("user", f"Use this key.\n{key}\nThanks.")], agent="dev", session_id="s1")

    assert line not in found.text


def test_what_is_returned_is_what_is_stored(alma: ALMA) -> None:
    fact = alma.add_domain_knowledge("dev", "deploying", TEXT)

    assert TOKEN not in fact.fact
    assert alma.get(fact.id) == fact


def test_the_same_token_is_found_again_by_itself(alma: ALMA) -> None:
    alma.learn("dev", f"Log in with {TOKEN}", "failure", "call the API")
    alma.learn("dev", "Log in with " + TOKEN.replace("q7Zk", "r8Al"), "failure", "call the API")

    found = alma.retrieve(task=f"Log in with {TOKEN}", agent="dev").outcomes

    assert found[0].task_description == alma.retrieve(task=f"Log in with {TOKEN}", agent="dev").query
    assert found[0].task_description != found[1].task_description


def test_a_check_matches_a_pattern_with_the_same_secret(alma: ALMA) -> None:
    alma.add_anti_pattern("dev", f"curl -H 'Authorization: Bearer {TOKEN}' https://old.example.org", "it was revoked")

    assert alma.check("dev", f"curl -H 'Authorization: Bearer {TOKEN}' https://old.example.org").warnings


@pytest.mark.parametrize(
    "call",
    [
        lambda alma: alma.learn(TOKEN, "deploy", True),
        lambda alma: alma.learn("dev", "deploy", True, idempotency_key=TOKEN),
        lambda alma: alma.add_user_preference(TOKEN, "style", "short"),
        lambda alma: alma.episode("dev", "deploy", run_id=TOKEN),
        lambda alma: alma.episode("dev", "deploy", episode_id=TOKEN),
        lambda alma: alma.for_project(TOKEN),
    ],
)
def test_a_name_with_a_secret_in_it_is_refused(alma: ALMA, call: Callable[[ALMA], Any]) -> None:
    with pytest.raises(ValidationError, match="contains a secret") as error:
        call(alma)

    assert TOKEN not in str(error.value)
    assert alma.get_stats().total == 0


def test_nothing_is_replaced_where_that_is_switched_off(open_store: OpenStore) -> None:
    alma = open_store(redact="off")

    assert alma.learn("dev", TEXT, True).task_description == TEXT


def test_personal_data_goes_too_where_that_is_asked_for(open_store: OpenStore) -> None:
    alma = open_store(redact="personal")

    assert "[personal:mail:" in alma.learn("dev", "Write to ann@example.org", True).task_description


def test_a_function_of_ones_own_is_used_instead(open_store: OpenStore) -> None:
    alma = open_store(redact=lambda text: text.replace("Acme", "<customer>"))

    assert alma.learn("dev", f"Invoice for Acme with {TOKEN}", True).task_description == f"Invoice for <customer> with {TOKEN}"


@pytest.mark.parametrize("redact", [lambda text: 1 / 0, lambda text: None])
def test_what_a_function_cannot_redact_is_not_stored(open_store: OpenStore, redact: Any) -> None:
    alma = open_store(redact=redact)

    with pytest.raises(AlmaError, match="redact"):
        alma.learn("dev", "deploy", True)

    assert alma.get_stats().total == 0


@pytest.mark.parametrize("redact", ["some", None, 3])
def test_an_unknown_way_of_redacting_is_refused(open_store: OpenStore, redact: Any) -> None:
    with pytest.raises(ConfigurationError, match="redact"):
        open_store(redact=redact)


@pytest.mark.parametrize(("said", "stored"), [("on", "[secret:"), ("off", "ghp_"), ('"personal"', "[secret:")])
def test_a_configuration_says_how_to_redact(tmp_path: Path, said: str, stored: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"project_id: shop\nstorage_dir: {tmp_path}\nembedding_provider: hash\nredact: {said}\n")

    with ALMA.from_config(config) as alma:
        assert stored in alma.learn("dev", TEXT, True).task_description


def test_an_export_of_a_store_without_secrets_is_imported_as_it_is(alma: ALMA, open_store: OpenStore) -> None:
    alma.learn("dev", "Deploy the shop", True, "blue-green")
    file = io.BytesIO()
    alma.export(file)
    file.seek(0)
    other = open_store("other")

    other.import_from(file)

    assert json.loads(file.getvalue().splitlines()[1]) is not None
    assert other.content_hash() == alma.content_hash()


def test_a_key_of_repetition_that_looks_drawn_by_chance_stays_and_is_free_again_after_a_purge(alma: ALMA) -> None:
    key = "aB3dE5fG7hJ9kL1mN3pQ5rS7"
    first = alma.learn("dev", "Deploy the shop", True, idempotency_key=key)
    assert first.metadata["idempotency_key"] == key

    alma.purge([first.id])

    assert alma.learn("dev", "Deploy the shop", True, idempotency_key=key).id != first.id


def test_the_passwords_in_a_list_are_replaced(alma: ALMA) -> None:
    made = alma.learn("dev", "Deploy the shop", True, metadata={"password": ["hunter2", ["Tr0ub4dor&3"]]})
    assert not [word for word in ("hunter2", "Tr0ub4dor") if word in str(made.metadata)]
