"""Locates a project's files. No configured value may lead outside the project folder unnoticed."""

import errno
import os
import unicodedata
from pathlib import Path

from alma.errors import ConfigurationError
from alma.text import quoted

CONFIG_FILE = Path(".alma", "config.yaml")
"""Path of the configuration that `alma init` writes, relative to the project folder."""

_SETTINGS_FOLDERS = {"config", "conf", "settings"}
_LONGEST = 300
_MAX_NAME = 100
_MAX_NAME_BYTES = 200  # leaves room for the suffixes that SQLite adds


def project_folder(config_path: Path, storage_dir: str | Path) -> Path:
    """Returns the folder that a relative `storage_dir` starts from, absolute.

    It is the parent of the folder that holds the configuration file, when that folder is kept for settings: hidden as `.alma` is, named
    `config`, `conf` or `settings`, or the storage folder itself. For any other file it is the folder of the file.
    """
    holder = Path(os.path.abspath(config_path)).parent
    first = Path(storage_dir).parts[:1]
    is_for_settings = holder.name.startswith(".") or holder.name in _SETTINGS_FOLDERS or first == (holder.name,)
    return holder.parent if is_for_settings else holder


def resolve_storage_dir(value: str | Path, project_folder: Path) -> Path:
    """Returns the storage folder, absolute, symbolic links followed. It need not exist yet.

    `~` is the home folder. A relative path starts at `project_folder` and may not leave it by `..`. Raises `ConfigurationError`
    otherwise, and when a file is in the way.
    """
    text = os.fspath(value)
    if not text.strip():
        raise ConfigurationError("storage_dir is empty; `.alma` is usual")
    _refuse_control_characters("storage_dir", text)
    try:
        expanded = Path(text).expanduser()
        path = Path(os.path.normpath(expanded)) if expanded.is_absolute() else _inside(project_folder.resolve(), expanded)
        path = path.resolve()
        if path.is_symlink():  # it leads to itself, which `resolve` passes over since Python 3.13
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _refuse_file_in_the_way(text, path)
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"storage_dir {quoted(text, _LONGEST)} cannot be used: {getattr(error, 'strerror', None) or error}"
        ) from error
    return path


def _inside(root: Path, relative: Path) -> Path:
    path = Path(os.path.normpath(root / relative))
    if not path.is_relative_to(root):
        named = quoted(os.fspath(relative), _LONGEST)
        raise ConfigurationError(f"storage_dir {named} leads out of {root}; give an absolute path if that is meant")
    return path


def resolve_key_file(value: str, project_folder: Path) -> Path:
    """Returns the path of a key file, absolute. `~` is the home folder, a relative path starts at `project_folder`."""
    if not value.strip():
        raise ConfigurationError("encryption.key_file is empty; give the path that `alma keygen` wrote a key to")
    _refuse_control_characters("encryption.key_file", value)
    try:
        return Path(os.path.abspath(project_folder / Path(value).expanduser()))
    except RuntimeError as error:
        raise ConfigurationError(f"encryption.key_file {quoted(value, _LONGEST)} cannot be used: {error}") from error


def check_db_name(value: str) -> str:
    """Returns `value` itself. Raises `ConfigurationError` unless it is a plain file name of at most 100 characters that stays inside its
    folder."""
    if not value.strip():
        raise ConfigurationError("db_name is empty; `alma.db` is usual")
    _refuse_control_characters("db_name", value)
    if any(mark in value for mark in "/\\:") or ".." in value or not value.strip("."):
        raise ConfigurationError(f"db_name {quoted(value, _LONGEST)} must be a plain file name, without `/`, `\\`, `:` or `..`")
    if value != value.strip():
        raise ConfigurationError(f"db_name {quoted(value, _LONGEST)} begins or ends with a space")
    if len(value) > _MAX_NAME or len(value.encode()) > _MAX_NAME_BYTES:
        raise ConfigurationError(f"db_name is longer than {_MAX_NAME} characters: {quoted(value)}")
    return value


def _refuse_control_characters(key: str, text: str) -> None:
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ConfigurationError(f"{key} {quoted(text, _LONGEST)} has a control character or half a surrogate pair in it")


def _refuse_file_in_the_way(text: str, path: Path) -> None:
    nearest = next((folder for folder in (path, *path.parents) if folder.exists()), None)
    if nearest is not None and not nearest.is_dir():
        raise ConfigurationError(f"storage_dir {quoted(text, _LONGEST)} must be a folder, but {nearest} is a file")
