"""Loads a file into `Settings`: checks its keys first, then its values."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from alma.config.paths import project_folder, resolve_key_file, resolve_storage_dir
from alma.config.reading import Plain, expand, is_unset, read_yaml
from alma.config.settings import EncryptionSettings, Settings
from alma.errors import ConfigurationError
from alma.extensions import extension
from alma.text import name_nearest, quoted, shortened

DEFAULT_STORAGE_DIR = ".alma"
LONGEST_KEY = 200
LONGEST_MESSAGE = 1_000
RESERVED = ("federation",)
OF_PACKAGES = {
    "compression": ("alma_knowledge.compression.configured", "check_compression", "knowledge", "compression is"),
    "graph": ("alma_graph.configured", "check_graph", "graph", "the graph is"),
    "llm": ("alma_knowledge.llm.configured", "check_llm", "knowledge", "language models are"),
    "webhooks": ("alma_events.webhooks.configured", "check_webhooks", "events", "webhooks are"),
}
"""Blocks of packages beside the core: the module and the function that check one, the extra to install, and what is missing without it."""

_STORES = ("postgres", "qdrant", "pinecone", "chroma", "azure")
_SECRETS = ("password", "api_key", "postgres.url", "azure.key")
_NESTED_OF_SQLITE = ("storage_dir", "db_name", "lock_timeout")
_PUBLISHED_OF_AZURE = {
    "cosmos_endpoint": ("azure", "endpoint"),
    "cosmos_key": ("azure", "key"),
    "database_name": ("azure", "database"),
    "openai_endpoint": ("azure_openai", "endpoint"),
    "openai_deployment": ("azure_openai", "deployment"),
    "openai_key": ("azure_openai", "api_key"),
}
"""Names of settings in the published shapes of `azure:`, each with the block and the name that it has here."""
_PLAINER = {
    "string_type": "must be text; put it in quotes",
    "tuple_type": "must be a list",
    "string_too_short": "must not be empty",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
}

Block = dict[str, Plain]
Model = TypeVar("Model", bound=BaseModel)


def load_settings(path: str | Path, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Returns the settings in the YAML file at `path`, read from the key `alma:` or from the top level.

    Variables are filled from `environ`. A relative `storage_dir` starts at the project folder (see `project_folder`). Any error in the
    file is a `ConfigurationError` that names the file and the key.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigurationError(f"a configuration is named by the path of its file, not by {quoted(path)}")
    try:
        block, prefix = _settings_block(read_yaml(Path(path)))
        return _validate(block, prefix, Path(path), environ)
    except ConfigurationError as error:
        raise type(error)(f"{shortened(str(path), LONGEST_KEY)}: {shortened(str(error), LONGEST_MESSAGE)}") from error


def settings_block(model: type[Model], given: object, name: str) -> Model:
    """Validates the settings of one block that a caller passes in place of a file. `ConfigurationError` names the key that is wrong."""
    if isinstance(given, model):
        return given
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{name} must be a mapping, not {quoted(given)}")
    _check_keys(dict(given), model, f"{name}.")
    return _as_model(model, dict(given), f"{name}.")


def _settings_block(content: Plain) -> tuple[Block, str]:
    if content is None:
        raise ConfigurationError("the file is empty; it needs at least `project_id: my-project`")
    if not isinstance(content, dict):
        raise ConfigurationError(f"the file must hold `key: value` lines, not {_kind(content)}")
    if "alma" not in content:
        return content, ""
    own = _check_mapping(content["alma"], "alma.")
    if beside := [key for key in content if key != "alma" and (key != "agents" or key in own)]:
        raise ConfigurationError(f"{beside[0]}: stands beside `alma:`, where it is not read; move it under `alma:`")
    return {**own, **{name: content[name] for name in content if name != "alma"}}, "alma."


def _validate(block: Block, prefix: str, file: Path, environ: Mapping[str, str]) -> Settings:
    block = _lift_azure(block, prefix)
    _check_top(block, prefix)
    block = _lift_sqlite(block, prefix)
    _check_keys(block, Settings, prefix)
    for name in block.keys() & set(_STORES):  # all settings of stores have a default
        part = _check_mapping(block[name], f"{prefix}{name}.")
        block[name] = {key: value for key, value in part.items() if not is_unset(value, environ)}
    filled = _check_mapping(expand(block, environ, prefix.rstrip(".")), prefix)
    for name in OF_PACKAGES.keys() & filled.keys():
        module, check, extra, what = OF_PACKAGES[name]
        getattr(extension(module, extra, what), check)(filled[name], prefix)
    storage_dir = filled.get("storage_dir", DEFAULT_STORAGE_DIR)
    if not isinstance(storage_dir, str):
        raise ConfigurationError(f"{prefix}storage_dir: must be text; put it in quotes")
    base = project_folder(file, storage_dir)
    encryption = filled.get("encryption")
    if isinstance(encryption, dict) and isinstance(key_file := encryption.get("key_file"), str):
        encryption["key_file"] = str(resolve_key_file(key_file, base))
    folder = resolve_storage_dir(storage_dir, base)
    return _as_model(Settings, {**filled, "storage_dir": folder}, prefix)


def _lift_azure(block: Block, prefix: str) -> Block:
    """Returns the settings with the published shapes of `azure:` brought to one: those of the embedder and the dimension stand elsewhere."""
    if not isinstance(given := block.get("azure"), dict):
        return block
    lifted: Block = {key: value for key, value in block.items() if key != "azure"}
    parts: dict[str, Block] = {}
    for name, value in given.items():
        home, plain = _PUBLISHED_OF_AZURE.get(name, ("azure", name))
        if name == "embedding_dim":
            if lifted.setdefault(name, value) != value:
                raise ConfigurationError(f"{prefix}azure.{name}: differs from {prefix}{name}")
        elif home in lifted or plain in parts.get(home, ()) or (name != plain and home == "azure" and plain in given):
            raise ConfigurationError(f"{prefix}azure.{name}: is given twice, there and as {home if home in lifted else plain}")
        else:
            parts.setdefault(home, {})[plain] = value
    return lifted | parts


def _lift_sqlite(block: Block, prefix: str) -> Block:
    """Accepts settings of the embedded backend in a block of their own, as other backends have them."""
    if "sqlite" not in block:
        return dict(block)
    nested = _check_mapping(block["sqlite"], f"{prefix}sqlite.")
    _check_known(nested, f"{prefix}sqlite.", _NESTED_OF_SQLITE)
    for key in nested.keys() & block.keys():
        raise ConfigurationError(f"{prefix}{key}: is given twice, there and under {prefix}sqlite")
    return {key: value for key, value in block.items() if key != "sqlite"} | nested


def _check_top(block: Block, prefix: str) -> None:
    known = (*Settings.model_fields, "sqlite")
    for key in (key for key in block if key not in known):
        if key in RESERVED:
            raise ConfigurationError(f"{prefix}{key}: is not built yet; remove it")
        blocks = ((name, *_model_in(field.annotation)) for name, field in Settings.model_fields.items())
        owners = [name for name, model, is_by_name in blocks if model and not is_by_name and key in _fields(model)]
        if owners:
            raise ConfigurationError(f"{prefix}{key}: is a setting of {', '.join(owners)}; put it in a block of that name")
    _check_known(block, prefix, known)


def _check_keys(block: Block, model: type[BaseModel], prefix: str) -> None:
    """Refuses unknown keys in the block of a model and in those within it."""
    if model is EncryptionSettings and "key" in block:
        raise ConfigurationError(f"{prefix}key: a key is never in a configuration; name its place by key_file or key_env")
    known = _fields(model)
    _check_known(block, prefix, tuple(known))
    for key, value in block.items():
        inner, is_by_name = _model_in(known[key])
        if inner is not None:
            parts = _check_mapping(value, f"{prefix}{key}.") if is_by_name else {"": value}
            for name, part in parts.items():
                place = f"{prefix}{key}.{name}." if is_by_name else f"{prefix}{key}."
                _check_keys(_check_mapping(part, place), inner, place)


def _check_known(block: Block, prefix: str, known: tuple[str, ...]) -> None:
    for key in block:
        if key not in known:
            near = name_nearest(key, known)
            raise ConfigurationError(
                f"{prefix}{shortened(str(key), LONGEST_KEY)}: unknown key{near}; known are {', '.join(known)}"
            )


def _fields(model: type[BaseModel]) -> dict[str, object]:
    """Returns the annotations of a model's settings by the names that they have in a file."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _model_in(annotation: object) -> tuple[type[BaseModel] | None, bool]:
    """Returns the model of a setting that is a block, and whether the setting is a mapping of such blocks by name."""
    found = (part for part in (annotation, *get_args(annotation)) if isinstance(part, type) and issubclass(part, BaseModel))
    return next(found, None), get_origin(annotation) is dict


def _check_mapping(value: Plain, prefix: str) -> Block:
    if value is None:
        raise ConfigurationError(f"{prefix.rstrip('.')}: is empty; fill it, write {{}} or remove it")
    if not isinstance(value, dict):
        raise ConfigurationError(f"{prefix.rstrip('.')}: must hold `key: value` lines, not {_kind(value)}")
    return value


def _kind(value: Plain) -> str:
    return "a list" if isinstance(value, list) else "a single value"


def _as_model(model: type[Model], block: Mapping[str, object], prefix: str) -> Model:
    try:
        return model.model_validate(block)
    except ValidationError as error:
        raise ConfigurationError(_in_plain_words(error.errors()[0], prefix)) from error


def _in_plain_words(error: ErrorDetails, prefix: str) -> str:
    key = prefix + ".".join(str(part) for part in error["loc"] if part != "[key]")
    if error["type"] == "missing":
        return f"{key}: is missing"
    message = _PLAINER.get(error["type"]) or error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    shown = quoted(error["input"]) if isinstance(error["input"], str) else f"'{quoted(error['input'])}'"
    return f"{key}: {message}" if key.endswith(_SECRETS) else f"{key}: {message} (it is {shown})"
