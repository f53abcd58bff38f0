"""Fills `${VAR}` and `${VAR:-default}` in the string values of a configuration from an environment, and `${KEYVAULT:name}` from a key vault.

This happens after the YAML is parsed, so that a value never becomes structure. `$${` stands for a literal `${`.
"""

import re
from collections.abc import Mapping

from alma.config.reading import Plain
from alma.errors import ConfigurationError
from alma.extensions import extension

VAULT_URL = "AZURE_KEYVAULT_URL"
"""The variable of the environment that says where the key vault is."""

_VARIABLE = re.compile(
    r"\$\$\{|\$\{(?:KEYVAULT:(?P<secret>[0-9A-Za-z-]{1,127})\}|(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^}]*)?\})?"
)


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
    if match["secret"]:
        return _from_vault(match["secret"], environ, key)
    if name is None:
        raise ConfigurationError(
            f"{key}: a variable is written ${{NAME}}, ${{NAME:-default}} or ${{KEYVAULT:secret-name}}; for a literal ${{ write $${{"
        )
    if default is not None:
        return environ.get(name) or default[len(":-") :]
    if name not in environ:
        raise ConfigurationError(f"{key}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
    return environ[name]


def _from_vault(name: str, environ: Mapping[str, str], key: str) -> str:
    """Returns a secret of the key vault that the environment names."""
    url = environ.get(VAULT_URL)
    if not url:
        raise ConfigurationError(
            f"{key}: ${{KEYVAULT:{name}}} needs the address of the vault: set {VAULT_URL} to https://NAME.vault.azure.net"
        )
    try:
        secret: str = extension("alma_azure.key_vault", "azure", "the client of Azure Key Vault is").read_secret(url, name)
    except ConfigurationError as error:
        raise ConfigurationError(f"{key}: {error}") from error
    return secret
