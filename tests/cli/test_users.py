"""What is said where an agent recorded for users and the command names none, or another."""

import pytest

TASKS = ("Deploy the auth service", "Deploy the mail service", "Deploy the web shop")


@pytest.fixture
def served(project):
    """A project whose agent recorded all that it tried for users: failures for maria, one success for bob, an invoice for łukasz."""
    for task in TASKS:
        project("learn", "-a", "helena", "-u", "maria", "-t", task, "-o", "failure", "-s", "rolling update", "--error", "503")
    project("learn", "-a", "helena", "-u", "bob", "-t", TASKS[0], "-o", "success", "-s", "canary rollout")
    project("learn", "-a", "helena", "-u", "łukasz", "-t", "Write the invoice", "-o", "success", "-s", "from last month's")
    return project


@pytest.mark.parametrize(
    ("arguments", "users"),
    [
        (("strategies",), ("maria", "bob", "łukasz")),
        (("strategies", "Write the invoice"), ("łukasz",)),
        (("retrieve", "Write the invoice"), ("łukasz",)),
        (("check", "rolling update"), ("maria",)),
        (("check", "rolling update", "-u", "bob"), ("maria",)),
        (("strategies", "-u", "eve"), ("maria", "bob", "łukasz")),
    ],
)
def test_where_only_a_user_has_the_answer_the_user_is_named(served, arguments: tuple[str, ...], users: tuple[str, ...]) -> None:
    told = served(*arguments, "-a", "helena").out

    assert told.rstrip().endswith("add --user-id")
    assert [user for user in ("maria", "bob", "łukasz") if repr(user) in told] == list(users)


@pytest.mark.parametrize(
    "arguments",
    [
        ("strategies", "Paint the fence"),
        ("retrieve", "Paint the fence"),
        ("check", "paint the fence"),
        ("assess", "--context", "Paint the fence"),
        ("strategies", "Write the invoice", "-u", "łukasz"),
    ],
)
def test_where_no_user_has_the_answer_none_is_named(served, arguments: tuple[str, ...]) -> None:
    assert "--user-id" not in served(*arguments, "-a", "helena").out


def test_users_that_share_all_are_not_named(served, folder) -> None:
    config = folder / ".alma" / "config.yaml"
    config.write_text(config.read_text() + "  users: shared\n")

    assert "rolling update" in served("strategies", "-a", "helena").out
    assert "--user-id" not in served("strategies", "Paint the fence", "-a", "helena").out


def test_no_user_is_named_to_a_program(served) -> None:
    """An agent may read the JSON, and is shown no other user's name."""
    for command in (("strategies",), ("check", "rolling update"), ("retrieve", "Write the invoice")):
        assert "maria" not in served(*command, "-a", "helena", "--json").out
