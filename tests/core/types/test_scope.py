"""Who may read whom: the whole truth table, failing closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from alma.types import MemoryScope
from alma.types.identity import access

OFFERS = {
    "unknown": None,
    "undeclared": (None,),
    "nobody": ((),),
    "another": (("qa",),),
    "reader": (("reader",),),
    "everyone": (("*",),),
}
TABLE = {
    # what the owner declared: whether a reader that does not, and one that does inherit from the owner, sees its memories
    "unknown": (False, True),
    "undeclared": (False, True),
    "nobody": (False, False),
    "another": (False, False),
    "reader": (True, True),
    "everyone": (True, True),
}


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("inherits", [None, False, True], ids=["unknown reader", "reader", "inheriting reader"])
def test_the_whole_table_of_reading(offer: str, inherits: bool | None) -> None:
    scopes = {}
    if OFFERS[offer] is not None:
        scopes["owner"] = MemoryScope(share_with=OFFERS[offer][0])
    if inherits is not None:
        scopes["reader"] = MemoryScope(inherit_from=("owner",) if inherits else ("qa",))

    assert access("reader", "owner", scopes).is_open is TABLE[offer][bool(inherits)]


_names = st.sampled_from(["a", "b", "c", "*", ""])
_scopes = st.dictionaries(
    _names,
    st.builds(
        MemoryScope,
        share_with=st.none() | st.lists(_names, max_size=2).map(tuple),
        inherit_from=st.lists(_names, max_size=2).map(tuple),
    ),
)


@given(_names, _scopes)
def test_everyone_reads_their_own(name: str, scopes: dict[str, MemoryScope]) -> None:
    assert access(name, name, scopes).is_open


@pytest.mark.slow
@given(st.sampled_from(["a", "b"]), _scopes)
def test_nobody_reads_an_owner_whom_no_rule_names(reader: str, scopes: dict[str, MemoryScope]) -> None:
    assert not access(reader, "stranger", scopes).is_open


@given(st.permutations(["a", "b", "c"]), _scopes)
def test_reading_is_not_passed_on(order: list[str], scopes: dict[str, MemoryScope]) -> None:
    first, middle, last = order
    chain = {**scopes, first: MemoryScope(inherit_from=(middle,)), middle: MemoryScope(inherit_from=(last,))}

    assert access(first, last, chain).is_open is (last in scopes and scopes[last].shares_with(first))


@pytest.mark.parametrize(
    "rules", [{"share_with": "victor"}, {"inherit_from": "victor"}, {"share": ["victor"]}, {"min_occurrences_for_heuristic": 0}]
)
def test_rules_that_are_misspelt_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MemoryScope.model_validate(rules)
