"""Where a command writes: over a file only when told to, and never over the configuration."""

import os
from pathlib import Path

from alma.errors import ConfigurationError


def checked_output(file: str, config: Path, *, may_replace: bool) -> Path:
    """The path to write to. `ConfigurationError` for a file that is there, unless it may be replaced, and always for the configuration."""
    path = Path(file)
    if path.exists() and config.exists() and path.samefile(config):
        raise ConfigurationError(f"{file} is the configuration; name another file")
    if os.path.lexists(path) and not may_replace:
        raise ConfigurationError(f"{file} exists already; use --force to write over it, or name another file")
    return path
