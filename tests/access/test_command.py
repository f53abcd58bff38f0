"""`alma token`: tokens on the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alma_access import NONE, Access, TokenFile
from alma_cli.app import app


def alma(*arguments: str, code: int = 0) -> Result:
    ended = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"}, prog_name="alma")
    assert ended.exit_code == code, ended.output
    return ended


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenFile:
    folder = tmp_path / "shop"
    (folder / ".alma").mkdir(parents=True)
    (folder / ".alma" / "config.yaml").write_text("project_id: shop\nembedding_provider: hash\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return TokenFile(folder / ".alma")


def test_a_new_token_reads_and_writes_in_this_project_alone(shop: TokenFile) -> None:
    secret = alma("token", "create", "laptop").stdout.strip()

    found = shop.find(secret)
    assert found is not None
    assert found.access == Access(projects=("shop",), rights=frozenset({"read", "write"}))
    assert found.expires is None


def test_a_token_is_bound_by_its_options(shop: TokenFile) -> None:
    options = "--project shop --project bank --agent helena --user maria --right read --right judge --source person --expires 30d"
    made = json.loads(alma("token", "create", "web", *options.split(), "--json").stdout)

    found = shop.find(made["secret"])
    assert found is not None
    assert found.access == Access("helena", "maria", ("shop", "bank"), frozenset({"read", "judge"}), "person")
    assert made["token"]["user_id"] == "maria"
    assert made["token"]["expires"] > made["token"]["id"][:0]
    assert not made["token"]["expired"]


def test_a_token_may_be_for_no_user_and_for_all_projects(shop: TokenFile) -> None:
    secret = alma("token", "create", "tests", "--no-user", "--project", "*").stdout.strip()

    found = shop.find(secret)
    assert found is not None
    assert found.access.user_id == NONE
    assert found.access.reaches("bank")


def test_a_token_is_not_named_like_a_session_of_the_page(shop: TokenFile) -> None:
    alma("token", "create", "page-turner", code=2)
    assert shop.tokens() == {}


def test_tokens_are_listed_without_secrets(shop: TokenFile) -> None:
    assert "There is no token" in alma("token", "list").stdout
    secret = alma("token", "create", "laptop", "--agent", "helena", "--expires", "12h").stdout.strip()
    shop.find(secret)

    told = alma("token", "list").stdout
    assert "agent helena, any user" in told
    assert secret not in told
    (listed,) = json.loads(alma("token", "list", "--json").stdout)["tokens"]
    assert (listed["name"], listed["rights"], listed["source"]) == ("laptop", ["read", "write"], "agent")
    assert listed["last_used"] is not None
    assert secret not in str(listed)


def test_a_revoked_token_is_gone(shop: TokenFile) -> None:
    secret = alma("token", "create", "laptop").stdout.strip()

    assert "Revoked 'laptop'" in alma("token", "revoke", "laptop").stdout
    assert shop.find(secret) is None
    assert "no token 'laptop'" in alma("token", "revoke", "laptop", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--right", "red"), "there is no right 'red'"),
        (("--source", "imported"), "there is no source 'imported'"),
        (("--expires", "5y"), "such as 30d"),
        (("--expires", "0d"), "such as 30d"),
        (("--expires", "99999w"), "ten years"),
        (("--user", "maria", "--no-user"), "contradict"),
        (("--agent", ""), "--agent needs a name"),
        (("--agent", "*"), "--agent needs a name"),
        (("--user", " "), "--user needs a name"),
        (("--project", ""), "--project needs a name"),
    ],
)
def test_a_wrong_option_is_one_line_and_makes_nothing(shop: TokenFile, arguments: tuple[str, ...], said: str) -> None:
    told = alma("token", "create", "laptop", *arguments, code=2).stderr

    assert said in told
    assert told.count("\n") == 1
    assert json.loads(alma("token", "create", "laptop", *arguments, "--json", code=2).stdout)["error"]["message"] == told[6:-1]
    assert shop.tokens() == {}


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_each_command_helps_with_examples(command: str) -> None:
    assert f"  alma token {command}" in alma("token", command, "--help").stdout
