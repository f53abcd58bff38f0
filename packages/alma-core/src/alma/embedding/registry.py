"""Creates embedders by name, or the one that a database was made with."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from alma.embedding import hashing
from alma.embedding.hashing import HashEmbedder
from alma.errors import ConfigurationError, EmbedderMismatchError
from alma.extensions import extension
from alma.protocols import Embedder
from alma.text import name_nearest
from alma.types.identity import Fingerprint

ENTRY_POINTS = "alma.embedders"
"""Group of the entry points of other packages: name -> a callable that takes `dimension` (int or None) and returns an `Embedder`."""

MINILM, HASH, AUTO = "minilm", "hash", "auto"
SENTENCE_TRANSFORMERS, OPENAI, AZURE = "sentence-transformers", "openai", "azure"
ALIASES = {"local": MINILM, "mock": HASH}
MINILM_EMBEDDER = "alma_minilm.embedder"
MINILM_PACKAGES = ("alma_minilm", "onnxruntime", "tokenizers")
BLOCKS = {OPENAI: "openai", AZURE: "azure_openai", SENTENCE_TRANSFORMERS: "sentence_transformers"}
"""Configuration blocks with the settings of embedders."""

_NAMES_OF_MODELS = {"all-MiniLM-L6-v2": MINILM, hashing.MODEL: HASH}
_PREFIX_OF_ENDPOINTS = "openai/"

Options = Mapping[str, Mapping[str, object]]
"""Options of embedders besides the dimension, by embedder name."""

NO_OPTIONS: Options = {}


def create_embedder(name: str, *, dimension: int | None = None, options: Options = NO_OPTIONS) -> Embedder:
    """Returns the embedder of that name, loaded.

    `auto` is `minilm` where its packages are installed, else `hash`. `dimension` is the length that the caller expects or, for `hash` and
    `openai`, requests; `None` takes the embedder's own. `options` has the settings of `openai`, `azure` and `sentence-transformers`,
    which are the arguments of their classes. Raises `ConfigurationError` for an unknown name, for settings that do not fit and for a
    dimension that the embedder does not have; `MissingDependencyError` if a package is missing.
    """
    embedder = _create(name, dimension, options)
    if dimension is not None and embedder.fingerprint.dimension != dimension:
        raise ConfigurationError(
            f"The embedder {name!r} gives {embedder.fingerprint.dimension} dimensions, but {dimension} are configured: set embedding_dim to "
            f"{embedder.fingerprint.dimension} or choose another embedder"
        )
    return embedder


def embedder_for(fingerprint: Fingerprint, *, options: Options = NO_OPTIONS) -> Embedder:
    """Returns the embedder whose vectors are interchangeable with those recorded under this fingerprint.

    Raises `EmbedderMismatchError` if the one installed now differs, `ConfigurationError` if none has the name of the model; other errors as
    `create_embedder`. A third party's embedder is found when its model has the name of its entry point.
    """
    name = _name_of(fingerprint, options)
    if name not in _plugins() and _plain(name) not in embedder_names():
        raise ConfigurationError(
            f"The vectors of this store were made by {fingerprint.model[:100]!r}, and no embedder has that name here: open the store with that "
            "embedder (embedding_provider=...), or run `alma reindex`"
        )
    embedder = create_embedder(name, dimension=fingerprint.dimension, options=options)
    if embedder.fingerprint != fingerprint:
        raise EmbedderMismatchError(
            f"The vectors were made by {_describe(fingerprint)}, but installed is {_describe(embedder.fingerprint)}: run `alma reindex`"
        )
    return embedder


def embedder_names() -> list[str]:
    """Returns all names that `create_embedder` accepts here, sorted."""
    return sorted({MINILM, HASH, AUTO, *BLOCKS, *ALIASES, *_plugins()})


def minilm_is_installed() -> bool:
    """True when `auto` selects `minilm`. Imports nothing."""
    return all(find_spec(package) is not None for package in MINILM_PACKAGES)


def _name_of(fingerprint: Fingerprint, options: Options) -> str:
    if fingerprint.model.startswith(_PREFIX_OF_ENDPOINTS):
        return AZURE if AZURE in options and OPENAI not in options else OPENAI
    return _NAMES_OF_MODELS.get(fingerprint.model, fingerprint.model)


def _plain(name: str) -> str:
    """Returns the name of a built-in embedder in its usual spelling."""
    plain = name.strip().lower().replace("_", "-")
    return ALIASES.get(plain, plain)


def _create(name: str, dimension: int | None, options: Options) -> Embedder:
    plain = _plain(name)
    if plain == AUTO:
        plain = MINILM if minilm_is_installed() else HASH
    if plain == HASH:
        return HashEmbedder() if dimension is None else HashEmbedder(dimension)
    if plain == MINILM:
        embedder: Embedder = extension(
            MINILM_EMBEDDER, "local", "The minilm embedder needs alma_minilm, which is"
        ).MiniLMEmbedder()
        return embedder
    if plain in BLOCKS:
        return _create_with_options(plain, dimension, options.get(plain, {}))
    if (plugin := _plugins().get(name)) is not None:
        return _load(plugin, dimension)
    known = embedder_names()
    raise ConfigurationError(
        f"There is no embedder {name[:100]!r}{name_nearest(plain, known) or '.'} There is: {', '.join(known)}"
    )


def _create_with_options(name: str, dimension: int | None, options: Mapping[str, object]) -> Embedder:
    """Creates an embedder that has settings of its own. Imports the module with its library only on demand."""
    make: Callable[..., Embedder]
    given: dict[str, Any] = dict(options)
    if name == SENTENCE_TRANSFORMERS:
        from alma.embedding.sentence_transformer import SentenceTransformersEmbedder

        make = SentenceTransformersEmbedder
    else:
        from alma.embedding.openai import AzureOpenAIEmbedder, OpenAIEmbedder

        make = AzureOpenAIEmbedder if name == AZURE else OpenAIEmbedder
        if dimension is not None:
            given.setdefault("dimension", dimension)
    try:
        return make(**given)
    except TypeError as error:
        raise ConfigurationError(
            f"The embedder {name!r} needs other settings ({error}): give them in a block {BLOCKS[name]!r} of the configuration, or pass an embedder"
        ) from error


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _load(plugin: EntryPoint, dimension: int | None) -> Embedder:
    try:
        embedder: Embedder = plugin.load()(dimension=dimension)
    except ImportError as failure:
        raise ConfigurationError(f"The embedder {plugin.name!r} ({plugin.value}) could not be loaded: {failure}") from failure
    return embedder


def _describe(fingerprint: Fingerprint) -> str:
    return (
        f"{fingerprint.model} revision {fingerprint.revision} ({fingerprint.dimension} dimensions, {fingerprint.precision}, "
        f"{fingerprint.token_limit or 'no'} token limit, preparation {fingerprint.preparation})"
    )
