"""Where the storage folder and the database lie, and tricks with them."""

from pathlib import Path

import pytest

from alma import ALMA
from alma.config import CONFIG_FILE, check_db_name, load_settings, project_folder, resolve_storage_dir
from alma.errors import ConfigurationError


def test_an_absolute_folder_needs_no_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert resolve_storage_dir(tmp_path / "store", Path()) == tmp_path / "store"
    with pytest.raises(ConfigurationError, match="storage_dir 'store' cannot be used: No such file"):
        resolve_storage_dir("store", Path())
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        assert alma.get_stats().total == 0


@pytest.mark.parametrize("name", ["alma.db", "memories", ".hidden.db", "été.db", "a b.db", "a.b.c", "x" * 100, "é" * 100, "con"])
def test_a_plain_file_name_is_returned_as_it_is(name: str) -> None:
    assert check_db_name(name) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("../x.db", "plain file name"),
        ("a/b.db", "plain file name"),
        ("/etc/passwd", "plain file name"),
        ("..\\x.db", "plain file name"),
        ("C:alma.db", "plain file name"),
        ("file:alma.db", "plain file name"),
        (".", "plain file name"),
        ("..", "plain file name"),
        ("...", "plain file name"),
        ("a..db", "plain file name"),
        ("a\0.db", "control character"),
        ("a\n.db", "control character"),
        ("a\x9f.db", "control character"),
        ("a\ud800.db", "surrogate"),
        (" alma.db", "space"),
        ("alma.db ", "space"),
        ("x" * 101, "longer than 100"),
        ("界" * 90, "longer than 100"),
    ],
)
def test_a_db_name_that_is_no_plain_file_name_is_refused(name: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        check_db_name(name)


def test_a_relative_folder_starts_at_the_project_folder_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert resolve_storage_dir(".alma", tmp_path) == tmp_path.resolve() / ".alma"


def test_inner_parents_are_fine_as_long_as_they_stay_inside(tmp_path: Path) -> None:
    assert resolve_storage_dir("a/../b", tmp_path) == tmp_path.resolve() / "b"
    assert resolve_storage_dir(".", tmp_path) == tmp_path.resolve()


@pytest.mark.parametrize("value", ["..", "../x", "a/../../x", "./../x", ".alma/../../../etc"])
def test_a_relative_folder_may_not_leave_the_project(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigurationError, match="give an absolute path"):
        resolve_storage_dir(value, tmp_path)


def test_an_absolute_folder_may_lie_anywhere(tmp_path: Path) -> None:
    assert resolve_storage_dir(str(tmp_path / "x" / ".." / "y"), tmp_path / "project") == tmp_path.resolve() / "y"
    assert resolve_storage_dir(tmp_path / "store", tmp_path / "project") == tmp_path.resolve() / "store"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert resolve_storage_dir("~/memories", tmp_path / "project") == tmp_path.resolve() / "memories"


def test_the_home_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used"):
        resolve_storage_dir("~nobody-of-this-name/memories", tmp_path)


@pytest.mark.parametrize("value", ["", "  ", "a\0b", "a\nb", "a\ud800b"])
def test_a_folder_name_with_nothing_or_with_control_characters_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigurationError, match="storage_dir"):
        resolve_storage_dir(value, tmp_path)


@pytest.mark.parametrize("value", ["note.txt", "note.txt/inner"])
def test_a_file_in_the_way_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "note.txt").write_text("a file")
    with pytest.raises(ConfigurationError, match=r"must be a folder, but .*note\.txt is a file"):
        resolve_storage_dir(value, tmp_path)


def test_a_name_too_long_for_the_file_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used"):
        resolve_storage_dir("x" * 5000, tmp_path)


def test_a_link_that_bites_its_tail_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        resolve_storage_dir("loop", tmp_path)


def test_the_project_folder_of_the_usual_file_is_the_parent_of_its_folder(tmp_path: Path) -> None:
    assert project_folder(tmp_path / CONFIG_FILE, ".alma") == tmp_path
    assert project_folder(tmp_path / CONFIG_FILE, "elsewhere") == tmp_path


@pytest.mark.parametrize("holder", [".config", "config", "conf", "settings", "store"])
def test_a_folder_kept_for_settings_is_not_the_project(tmp_path: Path, holder: str) -> None:
    assert project_folder(tmp_path / holder / "alma.yaml", "store") == tmp_path


def test_a_file_beside_the_code_is_in_the_project_folder(tmp_path: Path) -> None:
    assert project_folder(tmp_path / "app" / "alma.yaml", ".alma") == tmp_path / "app"


def test_a_relative_configuration_path_gives_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".alma").mkdir()
    (tmp_path / CONFIG_FILE).write_text("project_id: p")
    expected = load_settings(tmp_path / CONFIG_FILE).storage_dir

    monkeypatch.chdir(tmp_path)
    assert load_settings(CONFIG_FILE).storage_dir == expected
    monkeypatch.chdir(tmp_path / ".alma")
    assert load_settings("config.yaml").storage_dir == expected
