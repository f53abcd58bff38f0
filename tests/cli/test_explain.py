"""`alma explain` and `alma retrieve --explain`."""

import pytest

LEARN = ("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "Empty fields first", "--json")


def test_a_memory_that_is_retrieved_is_explained(project) -> None:
    learned = project(*LEARN).json["id"]
    told = project("explain", "login form", learned, "-a", "helena")

    assert told.out.startswith("Selected because: similarity=0.")
    assert "\n  score 0." in told.out
    assert "words matched: login, form" in told.out
    assert project("explain", "login form", learned, "--json").json["is_owners_view"] is True


def test_a_memory_that_is_kept_out_is_explained(project) -> None:
    learned = project(*LEARN).json["id"]
    told = project("explain", "login form", learned, "-a", "victor", "--json").json

    assert (told["selected"], told["reason"], told["access"]) == (False, "scope", "not_shared")
    assert project("explain", "login form", learned, "-a", "victor").out == f"{told['text']}\n"


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_an_id_that_is_not_there_is_told_and_refused(project, arguments: tuple[str, ...]) -> None:
    ended = project("explain", "login form", "no-such-id", "-a", "helena", *arguments, code=4)

    assert "no memory of project 'shop' has the id 'no-such-id'" in ended.out
    assert ended.err == ""


def test_retrieve_tells_the_numbers_when_asked(project) -> None:
    learned = project(*LEARN).json["id"]
    plain = project("retrieve", "login form", "-a", "helena").out
    told = project("retrieve", "login form", "-a", "helena", "--explain").out

    assert learned not in plain
    assert f"[O1] {learned}\n  score 0." in told
    assert (
        project("retrieve", "login form", "-a", "helena", "--explain", "--json").json["recalled"][0]["explanation"]["rank"] == 1
    )
