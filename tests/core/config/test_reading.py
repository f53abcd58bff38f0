"""Files that are not a decent piece of YAML."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.config import load_settings
from alma.config.reading import MAX_BYTES, read_yaml
from alma.errors import ConfigurationError

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{','.join(['*' + before] * 10)}]}}\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("project_id: p\nproject_id: q", "line 2: the key 'project_id' is written twice"),
        ("agents: {a: {}, a: {}}", "line 1: the key 'a' is written twice"),
        ("project_id: [", "not readable as YAML: line 1"),
        ("a: b: c", "not readable as YAML: line 1: mapping values are not allowed here"),
        ("project_id: p\n\tstorage: x", "not readable as YAML: line 2"),
        ("a: 1\n---\nb: 2", "not readable as YAML: line 2: but found another document"),
        ("project_id: *nothing", "not readable as YAML: line 1: found undefined alias"),
        ("project_id: a\0b", "not readable as YAML"),
        ("? [a, b]\n: c", "line 1: a key must be plain text"),
        (
            "project_id: !!python/object/apply:os.system [ls]",
            "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
        ),
        ("project_id: !!set {a, b}", "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:set'"),
        (
            "project_id: !!python/name:os.system ''",
            "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'",
        ),
        ("project_id: !secret x", "line 1: could not determine a constructor for the tag '!secret'"),
        ("project_id: !!binary aGk=", "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:binary'"),
        (
            "project_id: !!timestamp nonsense",
            "line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:timestamp'",
        ),
        ("embedding_dim: !!int ''", "line 1: '' is not a value that its type allows"),
        ("embedding_dim: !!bool maybe", "line 1: 'maybe' is not a value that its type allows"),
        (f"embedding_dim: {'9' * 5000}", "is not a value that its type allows"),
        (BOMB, "more than 10,000 values once its aliases are written out"),
        (MERGE_BOMB, "more than 10,000 values once its aliases are written out"),
        ("a: &a [*a]", "more than 10,000 values"),
        ("[" * 5000, "nested too deeply"),
        ("a: {<<: 5}", "line 1: expected a mapping or list of mappings for merging"),
    ],
)
def test_odd_yaml_is_told_by_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode())
    with pytest.raises(ConfigurationError) as caught:
        read_yaml(path)
    assert expected in str(caught.value)


@pytest.mark.slow
def test_what_is_written_plainly_is_bounded_by_the_size_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    agents = "".join(f"  agent-{number}: {{domain: coding}}\n" for number in range(5_000))
    path.write_text(f"project_id: p\nagents:\n{agents}")
    assert len(load_settings(path, environ={}).agents) == 5_000


@pytest.mark.slow
def test_aliases_are_counted_by_what_they_write_out_beside_anything_plain(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    plain = "".join(f"- {number}\n" for number in range(20_000))
    path.write_text(f"- &a [{'x,' * 99}]\n{plain}" + "- *a\n" * 100)
    assert len(read_yaml(path) or ()) == 20_101
    path.write_text(f"- &a [{'x,' * 99}]\n{plain}" + "- *a\n" * 101)
    with pytest.raises(ConfigurationError, match="more than 10,000 values once its aliases are written out"):
        read_yaml(path)


def test_a_file_that_is_not_utf_8_is_told_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes("project_id: é".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"not UTF-8 text \(byte 12\)"):
        read_yaml(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigurationError, match="larger than 1,000,000 bytes"):
        read_yaml(path)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a file"):
        read_yaml(tmp_path)


def test_a_device_is_not_a_file() -> None:
    with pytest.raises(ConfigurationError, match="not a file"):
        read_yaml(Path(os.devnull))


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigurationError):
        read_yaml(Path(name))


def test_a_file_that_may_not_be_read_is_a_configuration_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ConfigurationError):
        read_yaml(loop / "config.yaml")


@pytest.mark.slow
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200)
    | st.text(alphabet="ab:-{}[]&*<!|>?#'\"\n \t%$,~", max_size=60)
)
def test_no_text_makes_anything_but_settings_or_a_configuration_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ConfigurationError):
        load_settings(path, environ={})
