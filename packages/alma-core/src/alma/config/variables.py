"""Fills `${VAR}` and `${VAR:-default}` in the string values of a configuration from an environment.

This happens after the YAML is parsed, so that a value never becomes structure. `$${` stands for a literal `${`.
"""

import re
from collections.abc import Mapping

from alma.config.reading import Plain
from alma.errors import ConfigurationError

_VARIABLE = re.compile(r"\$\$\{|\$\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^}]*)?\})?")


def expand(value: Plain, environ: Mapping[str, str], key: str = "") -> Plain:
    """Returns the same structure with its variables filled in. As in a shell, the default also replaces an empty variable."""
    if isinstance(value, dict):
        return {name: expand(part, environ, f"{key}.{name}" if key else name) for name, part in value.items()}
    if isinstance(value, list):
        return [expand(part, environ, f"{key}[{index}]") for index, part in enumerate(value)]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _filled(match, environ, key), value)
    return value


def is_unset(value: Plain, environ: Mapping[str, str]) -> bool:
    """Returns True if a value is one variable, `${NAME}`, that the environment does not have."""
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match["name"] is not None and match["default"] is None and match["name"] not in environ


def _filled(match: re.Match[str], environ: Mapping[str, str], key: str) -> str:
    if match[0] == "$${":
        return "${"
    name, default = match["name"], match["default"]
    if name is None:
        raise ConfigurationError(f"{key}: a variable is written ${{NAME}} or ${{NAME:-default}}; for a literal ${{ write $${{")
    if default is not None:
        return environ.get(name) or default[len(":-") :]
    if name not in environ:
        raise ConfigurationError(f"{key}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
    return environ[name]
