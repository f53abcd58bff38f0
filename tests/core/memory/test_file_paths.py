"""Where exports go to and imports come from: odd paths are told, and no store is written over."""

import os
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ConfigurationError, StorageError, ValidationError
from facade import held


@pytest.mark.parametrize("path", ["", "\0", "\ud800", "x" * 200_001, "a\0b", ".", "..", "/"])
def test_a_path_that_is_none_is_told_by_an_error_of_alma(alma: ALMA, path: str) -> None:
    with pytest.raises((ValidationError, StorageError)) as told:
        alma.export(path)
    assert len(str(told.value)) < 400
    with pytest.raises((ValidationError, StorageError)) as told:
        alma.import_from(path)
    assert len(str(told.value)) < 400


def test_a_name_as_long_as_a_file_may_have_is_no_trouble(alma: ALMA, tmp_path: Path) -> None:
    alma.export(tmp_path / ("x" * 250))
    assert (tmp_path / ("x" * 250)).is_file()


def test_an_export_never_lands_on_a_store(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "one", project_id="shop", embedding_provider="hash") as alma:
        alma.learn("dev", "Deploy", "success", "Blue-green")
        alma.export(tmp_path / "plain.jsonl")
        alma.export(tmp_path / "plain.jsonl")
        os.link(tmp_path / "one" / "alma.db-wal", tmp_path / "hard")
        (tmp_path / "way").symlink_to(tmp_path / "one")
        before = held(alma)
        for name in (
            "one/alma.db",
            "one/alma.db-wal",
            "one/ALMA.DB-SHM",
            "one/new.index",
            "way/alma.db",
            "hard",
        ):
            with pytest.raises(ValidationError, match="belongs to a store"):
                alma.export(tmp_path / name)
        assert held(alma) == before
        assert alma.verify().ok


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in folders")
def test_an_export_goes_over_no_link_and_no_device(alma: ALMA, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(ValidationError, match="not an ordinary file"):
            alma.export(tmp_path / name)
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("path", [None, 5, ["x"], b"x"])
def test_a_configuration_is_named_by_a_path(path: Any) -> None:
    with pytest.raises(ConfigurationError, match="path of its file"):
        ALMA.from_config(path)
