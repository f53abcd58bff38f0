"""The blocks that tell embedders their settings."""

from pathlib import Path

import pytest

from alma.config import Settings, load_settings
from alma.errors import ConfigurationError

KEY = "sk-verysecret"
AZURE = "azure_openai: {endpoint: https://x.example, deployment: d, api_key: k"


def load(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "config.yaml"
    file.write_text(f"project_id: p\n{text}\n", encoding="utf-8")
    return load_settings(file, environ={"OPENAI_API_KEY": KEY})


def test_a_block_becomes_the_arguments_of_its_embedder_and_the_key_stays_hidden(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "embedding_provider: openai\nopenai: {model: nomic-embed-text, base_url: 'http://localhost:11434/v1', "
        "api_key: '${OPENAI_API_KEY}', dimension: 768, batch_size: 16, timeout: 2.5, max_retries: 0, max_characters: 2000}",
    )
    options = settings.embedder_options["openai"]
    assert options.pop("api_key").get_secret_value() == KEY  # type: ignore[attr-defined]
    assert options == {
        "model": "nomic-embed-text",
        "base_url": "http://localhost:11434/v1",
        "dimension": 768,
        "batch_size": 16,
        "timeout": 2.5,
        "max_retries": 0,
        "max_characters": 2000,
    }
    assert KEY not in f"{settings!r} {settings} {settings.embedder_options}"
    assert KEY not in settings.model_dump_json()


def test_what_is_not_told_is_left_to_the_embedder(tmp_path: Path) -> None:
    settings = load(tmp_path, "openai: {}\nsentence_transformers: {model: /models/minilm}")
    assert settings.embedder_options == {"openai": {}, "sentence-transformers": {"model": "/models/minilm"}}
    assert load(tmp_path, "embedding_provider: hash").embedder_options == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("openai: {modle: x}", "openai.modle: unknown key, did you mean 'model'?"),
        ("openai: {batch_size: 0}", "openai.batch_size: should be greater than or equal to 1"),
        ("openai: {timeout: -1}", "openai.timeout: should be greater than 0"),
        ("openai: {timeout: .inf}", "openai.timeout: should be a finite number"),
        ("openai: {max_retries: many}", "openai.max_retries: must be a whole number"),
        ("openai: {model: ''}", "openai.model: must not be empty"),
        ("openai: []", "openai: must hold `key: value` lines, not a list"),
        ("azure_openai: {endpoint: https://x.example, api_key: k}", "azure_openai.deployment: is missing"),
        (f"{AZURE}, api_versoin: x}}", "azure_openai.api_versoin: unknown key, did you mean 'api_version'?"),
        ("sentence_transformers: {device: cpu}", "sentence_transformers.model: is missing"),
        ("sentence_transformers: {model: m, trust_remote_code: yes}", "sentence_transformers.trust_remote_code: unknown key"),
        ("base_url: http://localhost", "base_url: is a setting of openai; put it in a block of that name"),
        ("opnai: {}", "opnai: unknown key, did you mean 'openai'?"),
        ("openai: {api_key: '${NO_SUCH_KEY}'}", "openai.api_key: the environment variable NO_SUCH_KEY is not set"),
    ],
)
def test_what_is_wrong_in_a_block_is_told_by_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    assert told in str(caught.value)


def test_a_key_of_a_wrong_type_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"openai\.api_key: must be text") as caught:
        load(tmp_path, "openai: {api_key: 123456789}")
    assert "123456789" not in str(caught.value)
