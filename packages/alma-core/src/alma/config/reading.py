"""Reads one YAML file into plain dicts, lists and scalars, and fills in its variables. Anything unusual in it is a `ConfigurationError`.

Stricter than YAML: keys are unique and stay as written (`123:` and `yes:` are names), dates stay text, and no tag creates objects.
"""

import re
from collections.abc import Hashable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from alma.errors import ConfigurationError
from alma.extensions import extension
from alma.text import fault_in

Plain = dict[str, "Plain"] | list["Plain"] | str | int | float | bool | None

MAX_BYTES = 1_000_000
MAX_COPIES = 10_000
"""Limit on the values that the aliases of one file repeat. The size of the file bounds the rest."""

VAULT_URL = "AZURE_KEYVAULT_URL"
"""The variable of the environment that holds the address of the key vault."""

SWITCHES = (
    "redact",
    "create_if_not_exists",
    "use_managed_identity",
    "allow_http",
    "nat64",
    "insecure_public",
    "legacy",
    "enabled",
)
"""Settings that are `on` or `off`, which YAML reads as booleans."""

_ENDLESS = 10**9
_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = {None, *(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map"))}
_VARIABLE = re.compile(
    r"\$\$\{|\$\{(?:KEYVAULT:(?P<secret>[0-9A-Za-z-]{1,127})\}|(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^}]*)?\})?"
)


class _Loader(yaml.SafeLoader):
    """Reads keys as they are written, dates as text, and refuses every tag but those of plain values."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)  # puts what `<<` names first, so that the mapping's own values win
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, ArithmeticError) as error:
            raise _problem(node, f"{str(node.value)[:40]!r} is not a value that its type allows") from error


_Loader.yaml_constructors = {tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag in _KNOWN_TAGS}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Plain:
    """Returns the only document of the file, `None` when it is empty. Messages do not repeat the file's name."""
    try:
        loader = _Loader(_read_text(path))
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, {})
        content: Plain = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ConfigurationError(f"not readable as YAML: {line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"not readable as YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigurationError("not readable: it is nested too deeply") from error
    return content


def _read_text(path: Path) -> str:
    try:
        if not path.exists():
            raise ConfigurationError("there is no such file; `alma init` writes one")
        if not path.is_file():
            raise ConfigurationError("this is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the file is not UTF-8 text (byte {error.start})") from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"the file is larger than {MAX_BYTES:,} bytes, which no configuration is")
    return text


def _measure(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Returns the number of values in a node with its aliases written out. Refuses keys that are no text or that are written twice.

    `sizes` has the nodes seen so far, each counted once. The rest of a node's size comes from aliases, which is limited.
    """
    if id(node) in sizes:
        return sizes[id(node)]
    sizes[id(node)] = _ENDLESS  # a node that is seen again while its parts are counted contains itself
    parts = node.value if isinstance(node, yaml.CollectionNode) else []
    if isinstance(node, yaml.MappingNode):
        names = set()
        for key, _ in parts:
            if not isinstance(key, yaml.ScalarNode):
                raise _problem(key, "a key must be plain text")
            if key.value in names:
                raise _problem(key, f"the key {key.value!r} is written twice")
            names.add(key.value)
        parts = chain.from_iterable(parts)
    size = 1 + sum(_measure(part, sizes) for part in parts)
    if size - len(sizes) > MAX_COPIES:
        raise _problem(node, f"more than {MAX_COPIES:,} values once its aliases are written out")
    sizes[id(node)] = size
    return size


def _problem(node: yaml.Node, problem: str) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)


def expand(value: Plain, environ: Mapping[str, str], key: str = "") -> Plain:
    """Returns the same structure with `${VAR}`, `${VAR:-default}` and `${KEYVAULT:name}` in its texts filled in, `$${` as a literal `${`.

    A filled value never becomes structure. As in a shell, the default also replaces an empty variable. No setting is a boolean: such a word is
    text without its quotes, so it is refused, as are texts that cannot be stored.
    """
    if isinstance(value, dict):
        return {name: expand(part, environ, f"{key}.{name}" if key else name) for name, part in value.items()}
    if isinstance(value, list):
        return [expand(part, environ, f"{key}[{index}]") for index, part in enumerate(value)]
    if isinstance(value, bool):
        if key.rpartition(".")[2] in SWITCHES:
            return "on" if value else "off"
        raise ConfigurationError(f"{key}: true and false mean nothing here; put the word in quotes if it is text")
    if not isinstance(value, str):
        return value
    text = _VARIABLE.sub(lambda match: _fill(match, environ, key), value)
    if fault := fault_in(text):
        raise ConfigurationError(f"{key}: {fault}")
    return text


def is_unset(value: Plain, environ: Mapping[str, str]) -> bool:
    """Returns True if a value is one variable, `${NAME}`, that the environment does not have."""
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match["name"] is not None and match["default"] is None and match["name"] not in environ


def _fill(match: re.Match[str], environ: Mapping[str, str], key: str) -> str:
    name, default = match["name"], match["default"]
    if match[0] == "$${":
        return "${"
    if match["secret"]:
        return _read_secret(match["secret"], environ, key)
    if name is None:
        raise ConfigurationError(
            f"{key}: a variable is written ${{NAME}}, ${{NAME:-default}} or ${{KEYVAULT:secret-name}}; for a literal ${{ write $${{"
        )
    if default is not None:
        return environ.get(name) or default[len(":-") :]
    if name not in environ:
        raise ConfigurationError(f"{key}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
    return environ[name]


def _read_secret(name: str, environ: Mapping[str, str], key: str) -> str:
    """Returns a secret of the key vault that the environment names."""
    try:
        if not (url := environ.get(VAULT_URL)):
            raise ConfigurationError(
                f"${{KEYVAULT:{name}}} needs the address of the vault: set {VAULT_URL} to https://NAME.vault.azure.net"
            )
        secret: str = extension("alma_azure.key_vault", "azure", "the client of Azure Key Vault is").read_secret(url, name)
    except ConfigurationError as error:
        raise ConfigurationError(f"{key}: {error}") from error
    return secret
