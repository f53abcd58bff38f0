"""Creates embedders by name, or the one that a database was made with."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from alma.embedding import hashing
from alma.embedding.hashing import HashEmbedder
from alma.embedding.names import ALIASES, AUTO, AZURE, HASH, MINILM, OPENAI, OPENAI_PREFIX, SENTENCE_TRANSFORMERS
from alma.errors import ConfigurationError, EmbedderMismatchError
from alma.protocols import Embedder
from alma.types.embedding import Fingerprint

ENTRY_POINTS = "alma.embedders"
"""Group of the entry points of other packages: name -> a callable that takes `dimension` (int or None) and returns an `Embedder`."""

MINILM_MODEL = "all-MiniLM-L6-v2"
MINILM_DIMENSION = 384
MINILM_PACKAGES = ("alma_minilm", "onnxruntime", "tokenizers")

Options = Mapping[str, Mapping[str, object]]
"""Options of embedders besides the dimension, by embedder name."""

NO_OPTIONS: Options = {}
BLOCKS = {OPENAI: "openai", AZURE: "azure_openai", SENTENCE_TRANSFORMERS: "sentence_transformers"}
"""Configuration blocks with the settings of embedders."""


def create_embedder(name: str, *, dimension: int | None = None, options: Options = NO_OPTIONS) -> Embedder:
    """Returns the embedder of that name, loaded.

    `auto` is `minilm` where its packages are installed, else `hash`. `dimension` is the length that the caller expects or, for `hash` and
    `openai`, requests; `None` takes the embedder's own. `options` has the settings of `openai`, `azure` and `sentence-transformers`,
    which are the arguments of their classes. Raises `ConfigurationError` for an unknown name, for settings that do not fit and for a
    dimension that the embedder does not have; `MissingDependencyError` if a package is missing.
    """
    embedder = _builder(name, options)(dimension)
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
    if not _is_known(name):
        raise ConfigurationError(
            f"The vectors of this store were made by {fingerprint.model[:100]!r}, and no embedder has that name here: open the store with that "
            "embedder (embedding_provider=...), or run `alma reindex`"
        )
    embedder = create_embedder(name, dimension=fingerprint.dimension, options=options)
    if embedder.fingerprint != fingerprint:
        raise EmbedderMismatchError(
            f"The vectors were made by {_described(fingerprint)}, but installed is {_described(embedder.fingerprint)}: run `alma reindex`"
        )
    return embedder


def _name_of(fingerprint: Fingerprint, options: Options) -> str:
    if fingerprint.model.startswith(OPENAI_PREFIX):
        return AZURE if AZURE in options and OPENAI not in options else OPENAI
    return {MINILM_MODEL: MINILM, hashing.MODEL: HASH}.get(fingerprint.model, fingerprint.model)


def embedder_names() -> list[str]:
    """Returns all names that `create_embedder` accepts here, sorted."""
    return sorted({MINILM, HASH, AUTO, OPENAI, AZURE, SENTENCE_TRANSFORMERS, *ALIASES, *_plugins()})


def minilm_is_installed() -> bool:
    """True when `auto` selects `minilm`. Imports nothing."""
    return all(find_spec(package) is not None for package in MINILM_PACKAGES)


def _is_known(name: str) -> bool:
    plain = name.strip().lower().replace("_", "-")
    return name in _plugins() or ALIASES.get(plain, plain) in embedder_names()


def _builder(name: str, options: Options) -> Callable[[int | None], Embedder]:
    plain = name.strip().lower().replace("_", "-")
    plain = ALIASES.get(plain, plain)
    if plain == AUTO:
        plain = MINILM if minilm_is_installed() else HASH
    if plain == MINILM:
        return _minilm
    if plain == HASH:
        return _hash
    if plain in (OPENAI, AZURE, SENTENCE_TRANSFORMERS):
        return partial(_with_options, plain, options.get(plain, {}))
    if (plugin := _plugins().get(name)) is not None:
        return _plugin_builder(plugin)
    raise ConfigurationError(_refusal(name, plain))


def _minilm(dimension: int | None) -> Embedder:
    if dimension not in (None, MINILM_DIMENSION):
        raise ConfigurationError(f"The minilm embedder gives {MINILM_DIMENSION} dimensions, but {dimension} are configured")
    from alma.embedding.minilm import MiniLMEmbedder  # loads the runtime only on demand

    return MiniLMEmbedder()


def _hash(dimension: int | None) -> Embedder:
    return HashEmbedder() if dimension is None else HashEmbedder(dimension)


def _with_options(name: str, options: Mapping[str, object], dimension: int | None) -> Embedder:
    """Creates an embedder that has settings of its own. Imports the module with its library only on demand."""
    make = _maker(name)
    given = dict(options)
    if name != SENTENCE_TRANSFORMERS and dimension is not None:
        given.setdefault("dimension", dimension)
    try:
        return make(**given)
    except TypeError as error:
        raise ConfigurationError(
            f"The embedder {name!r} needs other settings ({error}): give them in a block {BLOCKS[name]!r} of the configuration, or pass an embedder"
        ) from error


def _maker(name: str) -> Callable[..., Embedder]:
    if name == SENTENCE_TRANSFORMERS:
        from alma.embedding.sentence_transformer import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder
    from alma.embedding.openai import AzureOpenAIEmbedder, OpenAIEmbedder

    return AzureOpenAIEmbedder if name == AZURE else OpenAIEmbedder


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _plugin_builder(plugin: EntryPoint) -> Callable[[int | None], Embedder]:
    def build(dimension: int | None) -> Embedder:
        try:
            embedder: Embedder = plugin.load()(dimension=dimension)
        except ImportError as failure:
            raise ConfigurationError(f"The embedder {plugin.name!r} ({plugin.value}) could not be loaded: {failure}") from failure
        return embedder

    return build


def _refusal(name: str, plain: str) -> str:
    known = ", ".join(embedder_names())
    near = get_close_matches(plain, embedder_names(), n=1)
    hint = f", did you mean {near[0]!r}?" if near else "."
    return f"There is no embedder {name[:100]!r}{hint} There is: {known}"


def _described(fingerprint: Fingerprint) -> str:
    return (
        f"{fingerprint.model} revision {fingerprint.revision} ({fingerprint.dimension} dimensions, {fingerprint.precision}, "
        f"{fingerprint.token_limit or 'no'} token limit, preparation {fingerprint.preparation})"
    )
