"""Reads one YAML file into plain dicts, lists and scalars. Anything unusual in it is a `ConfigurationError`.

Stricter than YAML: keys are unique and stay as written (`123:` and `yes:` are names), dates stay text, and no tag creates objects.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from alma.errors import ConfigurationError

Plain = dict[str, "Plain"] | list["Plain"] | str | int | float | bool | None

MAX_BYTES = 1_000_000
MAX_COPIES = 10_000
"""Limit on the values that the aliases of one file repeat. The size of the file bounds the rest."""

_ENDLESS = 10**9

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = {_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map")}


class _Loader(yaml.SafeLoader):
    """SafeLoader without dates."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Plain:
    """Returns the only document of the file, `None` when it is empty. Messages do not repeat the file's name."""
    text = _read_text(path)
    try:
        return _parse(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"not readable as YAML: {_in_one_line(error)}") from error
    except RecursionError as error:
        raise ConfigurationError("not readable: it is nested too deeply") from error


def _read_text(path: Path) -> str:
    try:
        if not path.exists():
            raise ConfigurationError("there is no such file; `alma init` writes one")
        if not path.is_file():
            raise ConfigurationError("this is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"the file is larger than {MAX_BYTES:,} bytes, which no configuration is")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the file is not UTF-8 text (byte {error.start})") from error


def _parse(text: str) -> Plain:
    loader = _Loader(text)
    node = loader.get_single_node()
    if node is None:
        return None
    _check_size(node, {})
    return _plain(node, loader)


def _check_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Counts the values of the node with its aliases written out, and refuses files whose aliases unfold without bound.

    `sizes` has the nodes seen so far, each counted once. The rest of a node's size comes from aliases.
    """
    known = sizes.get(id(node))
    if known is not None:
        return known
    sizes[id(node)] = _ENDLESS  # a node that is seen again while its parts are counted contains itself
    size = 1 + sum(_check_size(child, sizes) for child in _children(node))
    if size - len(sizes) > MAX_COPIES:
        raise ConfigurationError(f"{_line(node)}: more than {MAX_COPIES:,} values once its aliases are written out")
    sizes[id(node)] = size
    return size


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value


def _plain(node: yaml.Node, loader: _Loader) -> Plain:
    if node.tag not in _KNOWN_TAGS:
        raise ConfigurationError(f"{_line(node)}: the tag {node.tag.replace(_TAG, '!!')!r} is not understood here")
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, loader)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, loader) for child in node.value]
    return _scalar(node, loader)


def _mapping(node: yaml.MappingNode, loader: _Loader) -> dict[str, Plain]:
    own: dict[str, Plain] = {}
    merged: dict[str, Plain] = {}
    for key_node, value_node in node.value:
        value = _plain(value_node, loader)
        if key_node.tag == f"{_TAG}merge":
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, dict):
                    raise ConfigurationError(f"{_line(key_node)}: `<<` takes a mapping or a list of mappings")
                merged = part | merged
            continue
        key = _key(key_node)
        if key in own:
            raise ConfigurationError(f"{_line(key_node)}: the key {key!r} is written twice")
        own[key] = value
    return merged | own


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigurationError(f"{_line(node)}: a key must be plain text")
    return str(node.value)


def _scalar(node: yaml.Node, loader: _Loader) -> Plain:
    try:
        value: Plain = loader.construct_object(node)
    except (ValueError, LookupError, ArithmeticError) as error:
        raise ConfigurationError(f"{_line(node)}: {str(node.value)[:40]!r} is not a value that its type allows") from error
    return value


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _in_one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
