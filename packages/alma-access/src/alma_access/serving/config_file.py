"""Where a server finds its configuration, looked for without importing the core."""

from pathlib import Path

CONFIG_FILE = Path(".alma", "config.yaml")


def nearest_config() -> Path:
    """Returns the nearest `.alma/config.yaml` here or in a folder above, else where it should be."""
    here = Path.cwd()
    return next((path for folder in (here, *here.parents) if (path := folder / CONFIG_FILE).is_file()), here / CONFIG_FILE)
