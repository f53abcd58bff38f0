"""`alma reflect` shows lessons, and notes them with `--apply`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA
from alma_cli.app import app


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "config.yaml"
    file.write_text(f"alma:\n  project_id: shop\n  storage_dir: {tmp_path}\n  embedding_provider: hash\n")
    with ALMA.from_config(file) as alma:
        for good in (True, False) * 8:
            with alma.episode("dev", "Deploy the shop") as episode:
                for action in ("build", *(["run the smoke tests"] if good else [])):
                    episode.step(action, ok=True)
                (episode.succeed if good else episode.fail)()
    return file


def run(config: Path, *arguments: str) -> str:
    ended = CliRunner().invoke(app, ["reflect", "--agent", "dev", "--config", str(config), *arguments])
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def test_it_shows_first_and_notes_with_apply(config: Path) -> None:
    shown = run(config)
    assert "do: run the smoke tests" in shown
    assert "--apply notes them" in shown

    assert "takes that back" in run(config, "--apply")
    found = json.loads(run(config, "--json"))
    assert (found["lessons"], found["known"][0]["do"]) == ([], "run the smoke tests")
