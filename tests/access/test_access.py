"""Whom a client speaks as, and what it may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.errors import ConfigurationError, ScopeViolationError
from alma_access import ANY, NONE, RIGHTS, SOURCES, Access

NAMES = st.sampled_from(["helena", "victor", "Zoë", "Zoe\u0308"])
ACCESSES = st.builds(
    Access,
    agent=NAMES | st.just(ANY),
    user_id=NAMES | st.sampled_from([ANY, NONE]),
    projects=st.lists(st.sampled_from(["shop", "bank", ANY]), min_size=1, max_size=2, unique=True).map(tuple),
    rights=st.frozensets(st.sampled_from(sorted(RIGHTS)), min_size=1),
    source=st.sampled_from(sorted(SOURCES)),
)


def refuses(call: object, *given: object) -> bool:
    try:
        call(*given)  # type: ignore[operator]
    except ScopeViolationError:
        return True
    return False


def test_a_client_of_one_project_need_not_name_it_and_can_name_no_other() -> None:
    access = Access(projects=("shop",))

    assert access.as_project(None) == access.as_project("shop") == "shop"
    with pytest.raises(ScopeViolationError, match="not bound to the project"):
        access.as_project("bank")


@pytest.mark.parametrize("projects", [("shop", "bank"), (ANY,)])
def test_a_client_of_several_projects_names_the_project(projects: tuple[str, ...]) -> None:
    access = Access(projects=projects)

    assert access.as_project("bank") == "bank"
    with pytest.raises(ScopeViolationError, match="project is missing"):
        access.as_project(None)


def test_a_right_that_a_client_has_not_is_refused_by_name() -> None:
    access = Access(rights=frozenset({"read"}))

    access.require("read")
    with pytest.raises(ScopeViolationError, match=r"no right to forget; its rights: read"):
        access.require("forget")


@pytest.mark.parametrize("user", ["maria", NONE])
def test_a_client_of_one_user_reaches_nothing_that_all_users_share(user: str) -> None:
    with pytest.raises(ScopeViolationError, match="reaches all users"):
        Access(user_id=user).require_all_users("undo")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rights": frozenset({"red"})},
        {"rights": frozenset()},
        {"source": "imported"},
        {"source": ""},
        {"projects": ()},
        {"projects": ("",)},
        {"agent": ""},
    ],
    ids=str,
)
def test_an_access_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        Access(**wrong)  # type: ignore[arg-type]


@given(ACCESSES, NAMES, NAMES)
def test_events_are_read_by_those_alone_who_may_name_their_agent_and_user(access: Access, agent: str, user: str) -> None:
    may_name = not (refuses(access.as_agent, agent) or refuses(access.as_user, user))

    assert access.reads(agent=agent, user_id=user) == may_name
    assert access.reads(agent=None, user_id=user) != refuses(access.as_user, user)


@given(ACCESSES, ACCESSES, NAMES, st.sampled_from(["shop", "bank"]))
def test_what_is_covered_can_nothing_that_the_other_cannot(one: Access, other: Access, name: str, project: str) -> None:
    if not one.covers(other):
        return

    assert other.rights <= one.rights
    for call in ("as_agent", "as_user", "reaches"):
        given = project if call == "reaches" else name
        if call == "reaches":
            assert one.reaches(given) or not other.reaches(given)
        else:
            assert refuses(getattr(other, call), given) or not refuses(getattr(one, call), given)
    assert one.is_for_all_users or not other.is_for_all_users
    assert other.source in ("agent", one.source)


@given(ACCESSES)
def test_a_client_covers_itself(access: Access) -> None:
    assert access.covers(access)
