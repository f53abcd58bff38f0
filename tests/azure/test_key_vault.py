"""`${KEYVAULT:name}`: the SDK's own client against answers of a vault that this test gives."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import requests
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import RequestsTransport
from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter
from urllib3 import HTTPResponse

from alma.config import load_settings
from alma.errors import ConfigurationError
from alma_azure import key_vault

VAULT = "https://shop.vault.azure.net"
CHALLENGE = 'Bearer authorization="https://login.microsoftonline.com/common", resource="https://vault.azure.net"'


class Vault(BaseAdapter):
    """Answers as a vault does: 401 with a challenge for a request without a token, then the secrets it has."""

    def __init__(self, secrets: dict[str, str], *, is_down: bool = False) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._secrets, self._is_down = secrets, is_down

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        if self._is_down:
            raise requests.ConnectionError("no route to host")
        assert request.method == "GET"
        assert request.url is not None
        if request.headers.get("Authorization") != "Bearer a-token":
            return answer(request, 401, {"error": {"code": "Unauthorized"}}, {"WWW-Authenticate": CHALLENGE})
        path = request.url.partition("?")[0].removeprefix(VAULT)
        self.asked.append(path)
        name = path.removeprefix("/secrets/").rstrip("/")
        if name not in self._secrets:
            return answer(request, 404, {"error": {"code": "SecretNotFound", "message": f"{name} was not found"}})
        return answer(request, 200, {"value": self._secrets[name], "id": f"{VAULT}/secrets/{name}/1", "attributes": {}})

    def close(self) -> None: ...


def answer(request: PreparedRequest, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    response = Response()
    response.request, response.url, response.status_code = request, request.url or "", status
    response.headers.update({"Content-Type": "application/json", **(headers or {})})
    response.raw = HTTPResponse(BytesIO(json.dumps(body).encode()), status=status, preload_content=False)
    return response


class Credential:
    """Someone who is signed in, or is not."""

    def __init__(self, *, is_known: bool = True) -> None:
        self._is_known = is_known

    def __call__(self, **_: Any) -> "Credential":
        return self

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        assert scopes == ("https://vault.azure.net/.default",)
        if not self._is_known:
            raise ClientAuthenticationError("nobody is signed in\nsecond line")
        return AccessToken("a-token", 2**33)

    def __enter__(self) -> "Credential":
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Vault:
    vault = Vault({"cosmos-key": "hush-hush", "empty": ""})
    use(monkeypatch, vault)
    return vault


def use(monkeypatch: pytest.MonkeyPatch, vault: Vault, credential: Credential | None = None) -> None:
    """Lets the real client of the SDK talk to this vault, as someone who is signed in."""
    client, session = key_vault.SecretClient, Session()
    session.mount("https://", vault)
    transport = RequestsTransport(session=session, session_owner=False)
    monkeypatch.setattr(key_vault, "DefaultAzureCredential", credential or Credential())
    monkeypatch.setattr(
        key_vault,
        "SecretClient",
        lambda url, who, **options: client(url, who, transport=transport, **{**options, "retry_total": 0}),
    )


def load(folder: Path, value: str) -> Any:
    path = folder / "alma.yaml"
    text = f'alma:\n  project_id: shop\n  azure: {{endpoint: "https://a.example", key: "{value}"}}\n'
    path.write_text(text, encoding="utf-8")
    return load_settings(path, environ={"AZURE_KEYVAULT_URL": VAULT})


def test_a_configuration_reads_a_secret_of_the_vault(vault: Vault, tmp_path: Path) -> None:
    settings = load(tmp_path, "${KEYVAULT:cosmos-key}")

    assert settings.azure.key.get_secret_value() == "hush-hush"
    assert vault.asked == ["/secrets/cosmos-key/"]
    assert "hush-hush" not in repr(settings)


@pytest.mark.parametrize(("name", "message"), [("missing", "has no secret 'missing'"), ("empty", "is empty")])
def test_a_secret_that_is_not_there_names_the_setting(vault: Vault, tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"azure\.key: .*{message}"):
        load(tmp_path, f"${{KEYVAULT:{name}}}")


def test_who_is_not_signed_in_reads_how_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, Vault({}), Credential(is_known=False))

    with pytest.raises(ConfigurationError, match=r"az login.*nobody is signed in") as caught:
        load(tmp_path, "${KEYVAULT:cosmos-key}")

    assert "second line" not in str(caught.value)


def test_a_vault_that_cannot_be_reached_is_an_error_of_the_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, Vault({}, is_down=True))

    with pytest.raises(ConfigurationError, match="no route to host"):
        load(tmp_path, "${KEYVAULT:cosmos-key}")
