"""The warning of a server that refuses is the one that docs/guides/symptoms.md has."""

import logging
from pathlib import Path

import pytest

from alma import ALMA

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "symptoms.md").read_text("utf-8")


def test_the_page_has_the_warning_word_by_word_and_what_it_promises_is_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="alma")
    path = tmp_path / "alma.yaml"
    path.write_text('project_id: shop\nstorage: qdrant\nembedding_provider: hash\nqdrant: {url: "http://127.0.0.1:9"}\n')
    with ALMA.from_config(path) as alma:
        alma.learn("helena", "Test the login form", "success", "Empty fields first")
        assert alma.retrieve("Test the login form", "helena").total_items == 1

    (warned,) = [record.getMessage() for record in caplog.records]
    assert warned in PAGE
