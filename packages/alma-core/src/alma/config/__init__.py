"""Turns a YAML file and the environment into validated `Settings`."""

from alma.config.forgetting import ForgettingRule, ForgettingSettings, MaintenanceSettings, OutcomeRule
from alma.config.loading import load_settings, settings_block
from alma.config.paths import CONFIG_FILE, check_db_name, project_folder, resolve_storage_dir
from alma.config.settings import (
    AzureOpenAISettings,
    AzureSettings,
    ChromaSettings,
    EncryptionSettings,
    OpenAISettings,
    PineconeSettings,
    PostgresSettings,
    QdrantSettings,
    ScoringSettings,
    ScoringWeights,
    SentenceTransformersSettings,
    Settings,
    check_storage,
)

__all__ = [
    "CONFIG_FILE",
    "AzureOpenAISettings",
    "AzureSettings",
    "ChromaSettings",
    "EncryptionSettings",
    "ForgettingRule",
    "ForgettingSettings",
    "MaintenanceSettings",
    "OpenAISettings",
    "OutcomeRule",
    "PineconeSettings",
    "PostgresSettings",
    "QdrantSettings",
    "ScoringSettings",
    "ScoringWeights",
    "SentenceTransformersSettings",
    "Settings",
    "check_db_name",
    "check_storage",
    "load_settings",
    "project_folder",
    "resolve_storage_dir",
    "settings_block",
]
