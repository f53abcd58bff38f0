"""`alma init` makes a project, and never harms one that is there."""

from pathlib import Path

import pytest

from alma.config import load_settings

CONFIG = Path(".alma", "config.yaml")


def test_it_writes_a_configuration_a_database_and_an_ignore_file(alma, folder: Path) -> None:
    ended = alma("init", "--embedder", "hash")

    settings = load_settings(CONFIG)
    assert (settings.project_id, settings.storage_dir) == ("shop", folder.resolve() / ".alma")
    assert (folder / ".alma" / "alma.db").stat().st_size > 0
    assert (folder / ".alma" / ".gitignore").read_text() == "*\n"
    assert "Wrote .alma/config.yaml" in ended.out
    assert "project 'shop', embedder hash" in ended.out


def test_it_says_which_embedder_auto_chose(alma) -> None:
    assert alma("init", "--json").json["embedder"] != "auto"


def test_names_of_any_spelling_survive(alma) -> None:
    alma(
        "init", "-e", "hash", "-p", 'Größe "X": # ${HOME}'.replace("${HOME}", "$HOME"), "-a", "yes", "-a", 'a: "b"', "-a", "日本"
    )

    settings = load_settings(CONFIG)
    assert settings.project_id == 'Größe "X": # $HOME'
    assert list(settings.agents) == ["yes", 'a: "b"', "日本"]


def test_the_configuration_explains_itself(alma) -> None:
    alma("init", "-e", "hash")
    assert all(
        key in CONFIG.read_text() for key in ("helena:", "can_learn", "cannot_learn", "share_with", "inherit_from", "${VARIABLE}")
    )


def test_the_example_is_a_configuration_once_its_marks_are_taken_away(alma) -> None:
    alma("init", "-e", "hash")
    head, example = CONFIG.read_text(encoding="utf-8").split("  # agents:")
    CONFIG.write_text(
        head + "".join(line.replace("# ", "", 1) + "\n" for line in f"  # agents:{example}".splitlines()), encoding="utf-8"
    )

    rules = load_settings(CONFIG).agents
    assert list(rules) == ["helena"]
    assert rules["helena"].share_with == ("victor",)


def test_an_existing_configuration_is_not_overwritten(project) -> None:
    before = CONFIG.read_text()
    ended = project("init", "--project-id", "other", code=2)

    assert "exists already; use --force" in ended.err
    assert CONFIG.read_text() == before


def test_force_writes_a_new_configuration_and_keeps_the_memories(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy", "-o", "success", "-s", "blue-green")
    project("init", "--force", "-e", "hash", "-p", "shop", "-a", "helena")

    assert "helena" in load_settings(CONFIG).agents
    assert project("stats", "--json").json["total"] == 1


def test_force_with_another_embedder_than_the_database_has_changes_nothing(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy", "-o", "success", "-s", "blue-green")
    before = CONFIG.read_text(), project("stats", "--json").json
    project("init", "--force", "--embedder", "minilm", code=2)
    assert (CONFIG.read_text(), project("stats", "--json").json) == before


@pytest.mark.parametrize(
    "arguments", [("-p", ""), ("-p", "a\x1bb"), ("-p", "x" * 201), ("-e", "nope"), ("-e", "openai"), ("-a", "")]
)
def test_what_would_not_load_is_not_left_behind(alma, folder: Path, arguments: tuple[str, ...]) -> None:
    alma("init", *arguments, code=2)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_the_configuration_may_lie_elsewhere(alma, folder: Path) -> None:
    made = alma("init", "-e", "hash", "-c", "sub/.alma/config.yaml", "--json").json

    assert made["project_id"] == "sub"
    assert made["database"] == str(folder.resolve() / "sub" / ".alma" / "alma.db")


def test_a_folder_that_cannot_be_made_is_told(alma, folder: Path) -> None:
    (folder / ".alma").write_text("a file in the way")
    assert "cannot be written" in alma("init", "-e", "hash", code=2).err


def test_an_ignore_file_that_cannot_be_written_is_told(alma, folder: Path) -> None:
    (folder / ".alma").mkdir()
    (folder / ".alma" / ".gitignore").symlink_to(folder / "nowhere" / "file")
    assert ".gitignore cannot be written" in alma("init", "-e", "hash", code=2).err


def test_an_ignore_file_of_the_user_is_left_alone(alma, folder: Path) -> None:
    (folder / ".alma").mkdir()
    (folder / ".alma" / ".gitignore").write_text("*.db\n")
    alma("init", "-e", "hash")
    assert (folder / ".alma" / ".gitignore").read_text() == "*.db\n"


def test_an_encrypted_project_needs_its_key(alma, folder: Path, tmp_path: Path) -> None:
    key = tmp_path / "keys" / "shop.key"
    made = alma("init", "-e", "hash", "--encrypt", "--key-file", str(key), "--json").json
    alma("learn", "--agent", "dev", "--task", "Deploy the zebrafish", "--outcome", "success", "--strategy", "slowly")

    assert made["key_file"] == str(key)
    assert key.stat().st_mode & 0o77 == 0
    assert b"zebrafish" not in (folder / ".alma" / "alma.db").read_bytes()
    assert "slowly" in alma("retrieve", "Deploy the zebrafish", "--agent", "dev").out
    key.rename(key.with_suffix(".away"))
    assert "key file" in alma("stats", code=2).err


def test_a_key_that_is_there_is_used_and_never_overwritten(alma, tmp_path: Path) -> None:
    key = tmp_path / "shop.key"
    alma("keygen", str(key))
    before = key.read_bytes()
    alma("init", "-e", "hash", "--encrypt", "--key-file", str(key))
    assert key.read_bytes() == before


def test_a_store_that_is_not_encrypted_stays_so_and_no_key_is_left(project, tmp_path: Path) -> None:
    before, key = CONFIG.read_text(), tmp_path / "shop.key"
    assert "alma encrypt" in project("init", "--force", "--encrypt", "--key-file", str(key), code=2).err
    assert CONFIG.read_text() == before
    assert not key.exists()
