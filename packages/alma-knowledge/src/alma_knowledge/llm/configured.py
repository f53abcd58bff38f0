"""The block `llm:` of a configuration: which language model a memory may ask, and how much of it."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from alma import ALMA
from alma.config.loading import settings_block
from alma.errors import ConfigurationError
from alma.memory.alma import configured_block
from alma_knowledge.llm.calling import as_llm
from alma_knowledge.llm.metering import Budget, DailyUsage, MeteredLLM

USAGE_FILE = "llm_usage.db"
"""Beside the store: how much the model was used, by day."""

Seconds = Annotated[float, Field(gt=0.0, le=3_600.0, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=0)]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BudgetSettings(_Block):
    """Limits on the use of the model; those of a day hold for all processes, from midnight UTC on."""

    calls_a_day: Number | None = None
    tokens_a_day: Number | None = None


class LLMSettings(_Block):
    """A language model. Nothing asks it unless a call says so, as `use_llm=True`."""

    provider: str
    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    api_version: str | None = None
    timeout: Seconds | None = None
    max_retries: Annotated[int, Field(ge=0, le=20)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    budget: BudgetSettings = BudgetSettings()


def check_llm(given: object, prefix: str = "") -> LLMSettings:
    """Returns the settings of a model. `ConfigurationError` names the key that is wrong."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{prefix}llm: must hold `key: value` lines, as `provider: ollama` and `model: …`")
    return settings_block(LLMSettings, given, f"{prefix}llm")


def open_llm(alma: ALMA) -> MeteredLLM | None:
    """Returns the model that the configuration of a memory names, within its budget; `None` where it names none. Asks nothing."""
    block, folder = configured_block(alma, "llm")
    if block is None:
        return None
    from alma_knowledge.llm.endpoints import create_llm  # needs the extra `llm`

    settings = check_llm(block)
    options = settings.model_dump(exclude_none=True, exclude={"provider", "budget"})
    budget = Budget(**settings.budget.model_dump())
    return MeteredLLM(create_llm(settings.provider, **options), budget, DailyUsage(folder / USAGE_FILE))


def checked_model(alma: ALMA, llm: object) -> MeteredLLM | None:
    """Returns the model of the configuration for `True`, none for `None` and `False`, else that of the caller."""
    if llm is None or llm is False:
        return None
    if llm is True:
        model = open_llm(alma)
        if model is None:
            raise ConfigurationError("llm=True needs a language model: name one in the block llm of the configuration")
        return model
    return llm if isinstance(llm, MeteredLLM) else MeteredLLM(as_llm(llm))
