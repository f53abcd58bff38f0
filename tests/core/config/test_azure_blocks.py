"""The published shapes of the block `azure:`."""

from pathlib import Path

import pytest
from pydantic import SecretStr
from pytest_mock import MockerFixture

from alma.config import Settings, load_settings
from alma.config.settings import AzureSettings
from alma.errors import ConfigurationError


def load(folder: Path, block: str, **environ: str) -> Settings:
    path = folder / "alma.yaml"
    path.write_text(f"alma:\n  project_id: shop\n{block}", encoding="utf-8")
    return load_settings(path, environ=environ)


@pytest.mark.parametrize(
    "block",
    [
        '{endpoint: "https://a.example", key: "${AZURE_COSMOS_KEY}", database: mine, embedding_dim: 384, create_if_not_exists: true}',
        '{cosmos_endpoint: "https://a.example", cosmos_key: "${AZURE_COSMOS_KEY}", database_name: mine, use_managed_identity: false}',
    ],
)
def test_either_published_block_loads(tmp_path: Path, block: str) -> None:
    settings = load(tmp_path, f"  embedding_dim: 384\n  azure: {block}\n", AZURE_COSMOS_KEY="hush")
    assert settings.azure == AzureSettings(endpoint="https://a.example", key=SecretStr("hush"), database="mine")
    assert settings.embedding_dim == 384
    assert "hush" not in repr(settings)


def test_a_variable_that_is_not_set_leaves_the_key_out(tmp_path: Path) -> None:
    settings = load(tmp_path, '  azure: {endpoint: "https://a.example", key: "${AZURE_COSMOS_KEY}"}\n')
    assert settings.azure is not None
    assert settings.azure.key is None


def test_settings_of_the_embedder_in_the_block_reach_the_embedder(tmp_path: Path) -> None:
    block = "  embedding_provider: azure\n  azure: {openai_endpoint: https://o.example, openai_key: k, openai_deployment: d}\n"
    settings = load(tmp_path, block)
    assert settings.azure is None
    assert settings.azure_openai is not None
    assert (settings.azure_openai.endpoint, settings.azure_openai.deployment) == ("https://o.example", "d")


def test_the_dimension_in_the_block_counts(tmp_path: Path) -> None:
    assert load(tmp_path, "  azure: {endpoint: https://a.example, key: k, embedding_dim: 256}\n").embedding_dim == 256


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("azure: {endpoint: a, cosmos_endpoint: b}", "azure.cosmos_endpoint: is given twice, there and as endpoint"),
        ("azure: {endpoint: a, use_managed_identity: maybe}", "azure.use_managed_identity: should be 'on' or 'off'"),
        ("azure: {embedding_dim: 256}\n  embedding_dim: 384", "azure.embedding_dim: differs from alma.embedding_dim"),
        ("azure: {endpont: a}", "azure.endpont: unknown key, did you mean 'endpoint'?"),
        ("azure: {key: 5}", "azure.key: must be text"),
        ("azure: here", "azure: must hold `key: value` lines"),
    ],
)
def test_a_wrong_block_is_an_error_that_names_the_key(tmp_path: Path, block: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, f"  {block}\n")
    assert expected in str(caught.value)
    assert "(it is 5)" not in str(caught.value)


def test_a_secret_of_a_key_vault_needs_the_address_of_the_vault(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"azure\.key: \$\{KEYVAULT:cosmos-key\} needs .* set AZURE_KEYVAULT_URL"):
        load(tmp_path, '  azure: {endpoint: "https://a.example", key: "${KEYVAULT:cosmos-key}"}\n')


def test_a_secret_of_a_key_vault_needs_the_extra(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch("alma.extensions.find_spec", return_value=None)

    with pytest.raises(ConfigurationError, match=r'azure\.key: .*"alma-core\[azure\] @ git'):
        load(
            tmp_path,
            '  azure: {endpoint: "https://a.example", key: "${KEYVAULT:cosmos-key}"}\n',
            AZURE_KEYVAULT_URL="https://shop.vault.azure.net",
        )


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "x" * 128])
def test_the_name_of_a_secret_is_one_that_a_vault_takes(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="KEYVAULT:secret-name"):
        load(tmp_path, f'  azure: {{endpoint: "https://a.example", key: "${{KEYVAULT:{name}}}"}}\n')
