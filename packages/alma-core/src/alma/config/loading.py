"""Loads a file into `Settings`: checks the keys first, then the values."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from alma.config.azure import lifted
from alma.config.nearest import suggestion
from alma.config.paths import project_folder, resolve_key_file, resolve_storage_dir
from alma.config.reading import Plain, read_yaml
from alma.config.settings import (
    AzureOpenAISettings,
    AzureSettings,
    ChromaSettings,
    EncryptionSettings,
    OpenAISettings,
    PineconeSettings,
    PostgresSettings,
    QdrantSettings,
    SentenceTransformersSettings,
    Settings,
)
from alma.config.variables import expand, is_unset
from alma.errors import ConfigurationError
from alma.text import quoted, shortened

DEFAULT_STORAGE_DIR = ".alma"
LONGEST_KEY = 200
LONGEST_MESSAGE = 1_000
RESERVED = ("webhooks", "compression", "federation", "graph", "llm", "server")

_BLOCKS: Mapping[str, type[BaseModel]] = {
    "postgres": PostgresSettings,
    "qdrant": QdrantSettings,
    "pinecone": PineconeSettings,
    "chroma": ChromaSettings,
    "azure": AzureSettings,
    "openai": OpenAISettings,
    "azure_openai": AzureOpenAISettings,
    "sentence_transformers": SentenceTransformersSettings,
}
_STORES = ("postgres", "qdrant", "pinecone", "chroma", "azure")
_SECRETS = ("password", "api_key", "postgres.url", "azure.key")
_NESTED_OF_SQLITE = ("storage_dir", "db_name", "lock_timeout")
_PLAINER = {
    "missing": "is missing",
    "string_type": "must be text; put it in quotes",
    "tuple_type": "must be a list",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_too_short": "must not be empty",
}

Block = dict[str, Plain]


def load_settings(path: str | Path, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Returns the settings in the YAML file at `path`, read from the key `alma:` or from the top level.

    Variables are filled from `environ`. A relative `storage_dir` starts at the project folder (see `project_folder`). Any error in the
    file is a `ConfigurationError` that names the file and the key.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigurationError(f"a configuration is named by the path of its file, not by {quoted(path)}")
    file = Path(path)
    try:
        block, prefix = _settings_block(read_yaml(file))
        return _settings(block, prefix, file, environ)
    except ConfigurationError as error:
        raise type(error)(f"{shortened(str(file), LONGEST_KEY)}: {shortened(str(error), LONGEST_MESSAGE)}") from error


def _settings_block(content: Plain) -> tuple[Block, str]:
    if content is None:
        raise ConfigurationError("the file is empty; it needs at least `project_id: my-project`")
    if not isinstance(content, dict):
        raise ConfigurationError(f"the file must hold `key: value` lines, not {_kind(content)}")
    if "alma" not in content:
        return content, ""
    beside = [key for key in content if key != "alma"]
    if beside:
        raise ConfigurationError(f"{beside[0]}: stands beside `alma:`, where it is not read; move it under `alma:`")
    return _mapping(content["alma"], "alma"), "alma."


def _settings(block: Block, prefix: str, file: Path, environ: Mapping[str, str]) -> Settings:
    block = lifted(block, prefix)
    _check_top(block, prefix)
    block = _lift_sqlite(block, prefix)
    _check_keys(block, Settings, prefix)
    filled = expand(_without_unset(block, environ), environ, prefix.rstrip("."))
    assert isinstance(filled, dict)
    if isinstance(filled.get("redact"), bool):  # `on` and `off` are flags to YAML
        filled["redact"] = "on" if filled["redact"] else "off"
    _check_scalars(filled, prefix.rstrip("."))
    storage_dir = filled.get("storage_dir", DEFAULT_STORAGE_DIR)
    if not isinstance(storage_dir, str):
        raise ConfigurationError(f"{prefix}storage_dir: must be text; put it in quotes")
    base = project_folder(file, storage_dir)
    folder = resolve_storage_dir(storage_dir, base)
    if isinstance(encryption := filled.get("encryption"), dict) and isinstance(key_file := encryption.get("key_file"), str):
        encryption["key_file"] = str(resolve_key_file(key_file, base))
    try:
        return Settings.model_validate(filled | {"storage_dir": folder})
    except ValidationError as error:
        raise ConfigurationError(_in_plain_words(error.errors()[0], prefix)) from error


def _without_unset(block: Block, environ: Mapping[str, str]) -> Block:
    """Leaves out the settings of stores that are a variable which is not set: all of them have a default."""
    kept = {
        name: {key: value for key, value in part.items() if not is_unset(value, environ)}
        for name, part in block.items()
        if name in _STORES and isinstance(part, dict)
    }
    return {**block, **kept}


def _check_keys(block: Block, model: type[BaseModel], prefix: str) -> None:
    """Refuses unknown keys in the block of a model and in those within it."""
    if model is EncryptionSettings and "key" in block:
        raise ConfigurationError(f"{prefix}key: a key is never in a configuration; name its place by key_file or key_env")
    known = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
    _check_block(block, prefix, tuple(known))
    for key, value in block.items():
        inner, is_by_name = _model_in(known[key])
        if inner is None:
            continue
        for name, part in _mapping(value, f"{prefix}{key}").items() if is_by_name else [("", value)]:
            place = f"{prefix}{key}.{name}" if is_by_name else f"{prefix}{key}"
            _check_keys(_mapping(part, place), inner, f"{place}.")


def _model_in(annotation: object) -> tuple[type[BaseModel] | None, bool]:
    """Returns the model of a setting that is a block, and whether the setting is a mapping of such blocks by name."""
    found = (part for part in (annotation, *get_args(annotation)) if isinstance(part, type) and issubclass(part, BaseModel))
    return next(found, None), get_origin(annotation) is dict


Checked = TypeVar("Checked", bound=BaseModel)


def settings_block(model: type[Checked], given: object, name: str) -> Checked:
    """Validates the settings of one block that a caller passes in place of a file. `ConfigurationError` names the key that is wrong."""
    if isinstance(given, model):
        return given
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{name} must be a mapping, not {quoted(given)}")
    block = dict(given)
    _check_keys(block, model, f"{name}.")
    try:
        return model.model_validate(block)
    except ValidationError as error:
        raise ConfigurationError(_in_plain_words(error.errors()[0], f"{name}.")) from error


def _check_top(block: Block, prefix: str) -> None:
    for key in block:
        if key in RESERVED:
            raise ConfigurationError(f"{prefix}{key}: is not built yet; remove it")
        owners = [name for name, model in _BLOCKS.items() if key in _keys(model)]
        if owners:
            raise ConfigurationError(f"{prefix}{key}: is a setting of {', '.join(owners)}; put it in a block of that name")
    _check_block(block, prefix, (*Settings.model_fields, "sqlite"))


def _check_block(block: Block, prefix: str, known: tuple[str, ...]) -> None:
    for key in block:
        if key not in known:
            raise ConfigurationError(
                f"{prefix}{shortened(str(key), LONGEST_KEY)}: unknown key{suggestion(key, known)}; known are {', '.join(known)}"
            )


def _lift_sqlite(block: Block, prefix: str) -> Block:
    """Accepts settings of the embedded backend in a block of their own, as other backends have them."""
    if "sqlite" not in block:
        return block
    nested = _mapping(block["sqlite"], f"{prefix}sqlite")
    _check_block(nested, f"{prefix}sqlite.", _NESTED_OF_SQLITE)
    for key in nested:
        if key in block:
            raise ConfigurationError(f"{prefix}{key}: is given twice, there and under {prefix}sqlite")
    return {key: value for key, value in block.items() if key != "sqlite"} | nested


def _check_scalars(value: Plain, key: str) -> None:
    """Refuses booleans, which are always unquoted words because no setting is a boolean, and text with NUL or a lone surrogate."""
    if isinstance(value, dict):
        for name, part in value.items():
            _check_scalars(name, f"{key}.{name}")
            _check_scalars(part, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _check_scalars(part, f"{key}[{index}]")
    elif isinstance(value, bool):
        raise ConfigurationError(f"{key}: true and false mean nothing here; put the word in quotes if it is text")
    elif isinstance(value, str) and any(mark == "\0" or "\ud800" <= mark <= "\udfff" for mark in value):
        raise ConfigurationError(f"{key}: has NUL or half a surrogate pair in it")


def _mapping(value: Plain, key: str) -> Block:
    if value is None:
        raise ConfigurationError(f"{key}: is empty; fill it, write {{}} or remove it")
    if not isinstance(value, dict):
        raise ConfigurationError(f"{key}: must hold `key: value` lines, not {_kind(value)}")
    return value


def _keys(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _kind(value: Plain) -> str:
    return "a list" if isinstance(value, list) else "a single value"


def _shown(value: object) -> str:
    return quoted(value) if isinstance(value, str) else f"'{quoted(value)}'"


def _in_plain_words(error: ErrorDetails, prefix: str) -> str:
    key = prefix + ".".join(str(part) for part in error["loc"] if part != "[key]")
    if error["type"] == "missing":
        return f"{key}: is missing"
    message = _PLAINER.get(error["type"]) or error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    given = "" if key.endswith(_SECRETS) else f" (it is {_shown(error['input'])})"
    return f"{key}: {message}{given}"
