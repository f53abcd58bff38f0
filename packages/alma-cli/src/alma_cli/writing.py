"""Checks the file that a command writes: an existing one is replaced only on request, the configuration never."""

import os
from pathlib import Path

from alma.errors import ConfigurationError


def checked_output(file: str, config: Path, *, may_replace: bool) -> Path:
    """Returns the path to write to. `ConfigurationError` for an existing file, unless it may be replaced, and always for the
    configuration."""
    path = Path(file)
    if path.exists() and config.exists() and path.samefile(config):
        raise ConfigurationError(f"{file} is the configuration; name another file")
    if os.path.lexists(path) and not may_replace:
        raise ConfigurationError(f"{file} exists already; use --force to write over it, or name another file")
    return path
