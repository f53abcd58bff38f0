"""Secrets of an Azure Key Vault, for `${KEYVAULT:name}` in a configuration."""

from typing import Any

from azure.core.exceptions import AzureError, ClientAuthenticationError, ResourceNotFoundError
from azure.identity import DefaultAzureCredential
from azure.keyvault.secrets import SecretClient

from alma.errors import ConfigurationError

TIMEOUT_SECONDS = 10
RETRIES = 2


def read_secret(vault_url: str, name: str, **options: Any) -> str:
    """Returns the newest version of a secret, read as whom `DefaultAzureCredential` finds: the environment, a managed identity, `az login`.

    `options` go to the SDK's `SecretClient`. `ConfigurationError` if there is no such secret, it is empty, no account is signed in, or the vault
    cannot be reached.
    """
    credential = DefaultAzureCredential(process_timeout=TIMEOUT_SECONDS)
    limits = {"connection_timeout": TIMEOUT_SECONDS, "read_timeout": TIMEOUT_SECONDS, "retry_total": RETRIES}
    try:
        with credential, SecretClient(vault_url, credential, **{**limits, **options}) as client:
            value = client.get_secret(name).value
    except ResourceNotFoundError as error:
        raise ConfigurationError(f"the key vault {vault_url} has no secret {name!r}") from error
    except ClientAuthenticationError as error:
        raise ConfigurationError(
            f"the key vault {vault_url} was not opened: sign in by `az login`, a managed identity or AZURE_CLIENT_ID, "
            f"AZURE_TENANT_ID and AZURE_CLIENT_SECRET; {_first_line(error)}"
        ) from error
    except (AzureError, ValueError) as error:
        raise ConfigurationError(
            f"the secret {name!r} of the key vault {vault_url} was not read: {_first_line(error)}"
        ) from error
    if not value:
        raise ConfigurationError(f"the secret {name!r} of the key vault {vault_url} is empty")
    return value


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
