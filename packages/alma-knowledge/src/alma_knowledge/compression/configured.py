"""The block `compression:` of a configuration: what `alma.compress` does where a call does not say it."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from alma import ALMA
from alma.config.loading import settings_block
from alma.errors import ConfigurationError
from alma.memory.alma import configured_block
from alma_knowledge.compression.results import CompressionStrategy


class CompressionSettings(BaseModel):
    """Defaults of `alma.compress`. With `enabled: false` it does nothing unless a call names a strategy. Nothing runs by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    strategy: CompressionStrategy = CompressionStrategy.SUMMARIZE
    age_threshold_days: Annotated[float, Field(ge=0, le=365_000, allow_inf_nan=False)] = 30
    preserve_high_confidence: bool = True


def check_compression(given: object, prefix: str = "") -> CompressionSettings:
    """Returns the settings of compression. `ConfigurationError` names the key that is wrong."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{prefix}compression: must hold `key: value` lines, as `strategy: summarize`")
    return settings_block(CompressionSettings, given, f"{prefix}compression")


def read_settings(alma: ALMA) -> CompressionSettings:
    """Returns the settings that a memory was opened with, or the usual ones."""
    block, _ = configured_block(alma, "compression")
    return check_compression(block or {})
