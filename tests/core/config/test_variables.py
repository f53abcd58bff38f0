"""`${VAR}` and `${VAR:-default}` in string values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.config.reading import expand
from alma.errors import ConfigurationError

ENVIRON = {"NAME": "helena", "EMPTY": "", "YAML": "a: [1, {b: c}]", "NESTED": "${NAME}"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${NAME}", "helena"),
        ("x-${NAME}-${NAME}", "x-helena-helena"),
        ("${NAME:-other}", "helena"),
        ("${NOPE:-other}", "other"),
        ("${NOPE:-}", ""),
        ("${NOPE:-a:-b}", "a:-b"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${YAML}", "a: [1, {b: c}]"),
        ("${NESTED}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("$${NAME}", "${NAME}"),
        ("pa$$word", "pa$$word"),
        ("100 %", "100 %"),
    ],
)
def test_a_variable_is_filled_in_once_and_stays_text(value: str, expected: str) -> None:
    assert expand(value, ENVIRON) == expected


def test_variables_are_filled_at_every_depth_and_keys_are_left_alone() -> None:
    given = {"agents": {"${NAME}": {"share_with": ["${NAME}", 5, None]}}}
    assert expand(given, ENVIRON) == {"agents": {"${NAME}": {"share_with": ["helena", 5, None]}}}


def test_an_unset_variable_is_told_with_its_key() -> None:
    with pytest.raises(ConfigurationError, match=r"agents\.a\.share_with\[1\]: the environment variable NOPE is not set"):
        expand({"agents": {"a": {"share_with": ["x", "${NOPE}"]}}}, ENVIRON)


@pytest.mark.parametrize("value", ["${", "${}", "${NAME", "${1A}", "${KEYVAULT:}", "${NAME-x}", "${ NAME }"])
def test_half_a_variable_is_told_with_its_key(value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"storage_dir: a variable is written \$\{NAME\}"):
        expand({"storage_dir": value}, ENVIRON)


@pytest.mark.slow
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_text_without_a_dollar_is_left_as_it_is(text: str) -> None:
    assert expand(text.replace("$", ""), {}) == text.replace("$", "")
