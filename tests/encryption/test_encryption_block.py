"""`encryption:` names the place of a key; the key itself is never in a configuration."""

from pathlib import Path

import pytest

from alma import ALMA
from alma.config import load_settings
from alma.encryption import configured_key
from alma.errors import ConfigurationError
from encrypted import KEY


def settings_of(folder: Path, block: str) -> Path:
    (folder / ".alma").mkdir(exist_ok=True)
    file = folder / ".alma" / "config.yaml"
    file.write_text(f"project_id: shop\nembedding_provider: hash\n{block}\n")
    return file


@pytest.mark.parametrize("name", ["alma.key", "{folder}/alma.key", "~/alma.key"], ids=["relative", "absolute", "home"])
def test_a_key_file_is_found_from_the_project_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "alma.key").write_bytes(KEY)
    settings = load_settings(settings_of(tmp_path, f"encryption: {{key_file: {name.format(folder=tmp_path)}}}"))
    assert configured_key(settings) == KEY


def test_a_store_opens_by_a_key_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = settings_of(tmp_path, "encryption: {key_env: ALMA_KEY}")
    with pytest.raises(ConfigurationError, match="'ALMA_KEY' is not set"):
        ALMA.from_config(file)
    monkeypatch.setenv("ALMA_KEY", "swordfish")
    with pytest.raises(ConfigurationError, match="the variable 'ALMA_KEY' is no key") as caught:
        ALMA.from_config(file)
    assert "swordfish" not in str(caught.value)
    monkeypatch.setenv("ALMA_KEY", KEY.hex())
    with ALMA.from_config(file) as alma:
        alma.learn("helena", "Deploy the billing service", "success")
    assert [path.name for path in tmp_path.rglob("*.db*") if b"billing" in path.read_bytes()] == []


def test_without_the_block_there_is_no_key(tmp_path: Path) -> None:
    assert configured_key(load_settings(settings_of(tmp_path, ""))) is None


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("encryption: {}", "name one place of the key: key_file or key_env"),
        ("encryption: {key_file: a.key, key_env: ALMA_KEY}", "name one place of the key"),
        ("encryption: {key: c3dvcmRmaXNo}", "a key is never in a configuration"),
        ("encryption: {key_fil: a.key}", "unknown key"),
        ('encryption: {key_file: ""}', "key_file is empty"),
        ("encryption: {key_file: [a.key]}", "encryption.key_file"),
        ("encryption: alma.key", "must hold `key: value` lines"),
        ("encryption:", "is empty"),
    ],
    ids=["nothing", "both", "the key", "unknown", "empty name", "list", "text", "empty"],
)
def test_a_wrong_block_is_an_error_that_names_it(tmp_path: Path, block: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        load_settings(settings_of(tmp_path, block))
    assert "c3dvcmRmaXNo" not in str(caught.value)
