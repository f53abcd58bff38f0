"""The published shapes of the block `azure:`, brought to one."""

from alma.config.reading import Plain
from alma.errors import ConfigurationError

_SAME = {"cosmos_endpoint": "endpoint", "cosmos_key": "key", "database_name": "database"}
_OF_THE_EMBEDDER = {"openai_endpoint": "endpoint", "openai_deployment": "deployment", "openai_key": "api_key"}
_SWITCHES = ("create_if_not_exists", "use_managed_identity")

Block = dict[str, Plain]


def lifted(block: Block, prefix: str) -> Block:
    """Returns the settings with `azure:` in its plain shape: the embedder's and the dimension are moved to where they belong.

    `ConfigurationError` if one of them stands in two places.
    """
    given = block.get("azure")
    if not isinstance(given, dict):
        return block
    moved = {**_SAME, **_OF_THE_EMBEDDER, "embedding_dim": ""}
    azure = {key: value for key, value in given.items() if key not in moved}
    for name, plain in _SAME.items():
        if name in given:
            _once(azure, plain, given[name], f"{prefix}azure.{name}")
    for name in _SWITCHES:
        if isinstance(is_on := azure.get(name), bool):
            azure[name] = "on" if is_on else "off"
    lifted = {key: value for key, value in block.items() if key != "azure"}
    if azure:
        lifted["azure"] = azure
    if "embedding_dim" in given and lifted.setdefault("embedding_dim", given["embedding_dim"]) != given["embedding_dim"]:
        raise ConfigurationError(f"{prefix}azure.embedding_dim: differs from {prefix}embedding_dim")
    embedder: Block = {plain: given[name] for name, plain in _OF_THE_EMBEDDER.items() if name in given}
    if embedder:
        _once(lifted, "azure_openai", embedder, f"{prefix}azure.openai_…")
    return lifted


def _once(block: Block, key: str, value: Plain, place: str) -> None:
    if key in block:
        raise ConfigurationError(f"{place}: is given twice, there and as {key}")
    block[key] = value
