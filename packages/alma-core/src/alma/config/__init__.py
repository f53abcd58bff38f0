"""Turns a YAML file and the environment into validated `Settings`."""

from alma.config.loading import load_settings, settings_block
from alma.config.paths import CONFIG_FILE, check_db_name, project_folder, resolve_storage_dir
from alma.config.settings import EncryptionKey, ForgettingSettings, MaintenanceSettings, ScoringSettings, Settings, check_storage

__all__ = [
    "CONFIG_FILE",
    "EncryptionKey",
    "ForgettingSettings",
    "MaintenanceSettings",
    "ScoringSettings",
    "Settings",
    "check_db_name",
    "check_storage",
    "load_settings",
    "project_folder",
    "resolve_storage_dir",
    "settings_block",
]
