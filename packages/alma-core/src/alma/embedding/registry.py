"""Embedders by name, and the embedder that a database was made with."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from alma.embedding import hashing
from alma.embedding.hashing import HashEmbedder
from alma.errors import ConfigurationError, EmbedderMismatchError
from alma.protocols import Embedder
from alma.types.embedding import Fingerprint

ENTRY_POINTS = "alma.embedders"
"""Group of the entry points of other packages: name -> a callable that takes `dimension` (int or None) and gives an `Embedder`."""

MINILM = "minilm"
HASH = "hash"
AUTO = "auto"
ALIASES = {"local": MINILM, "mock": HASH}
RESERVED = ("azure", "openai", "sentence-transformers")
MINILM_MODEL = "all-MiniLM-L6-v2"
MINILM_DIMENSION = 384
MINILM_PACKAGES = ("alma_minilm", "onnxruntime", "tokenizers")


def create_embedder(name: str, *, dimension: int | None = None) -> Embedder:
    """The embedder of that name, loaded.

    `auto` is `minilm` where its packages are installed, else `hash`. `dimension` is what the caller expects or, for `hash`, wants; `None`
    takes the embedder's own. `ConfigurationError` for an unknown or not yet built name and for a dimension that the embedder has not,
    `MissingDependencyError` if a package is missing.
    """
    embedder = _builder(name)(dimension)
    if dimension is not None and embedder.fingerprint.dimension != dimension:
        raise ConfigurationError(
            f"The embedder {name!r} gives {embedder.fingerprint.dimension} dimensions, but {dimension} are configured: set embedding_dim to "
            f"{embedder.fingerprint.dimension} or choose another embedder"
        )
    return embedder


def embedder_for(fingerprint: Fingerprint) -> Embedder:
    """The embedder whose vectors are interchangeable with those recorded under this fingerprint.

    `EmbedderMismatchError` if the one installed now differs; other errors as `create_embedder`. A third party's embedder is found when
    its model bears the name of its entry point.
    """
    name = {MINILM_MODEL: MINILM, hashing.MODEL: HASH}.get(fingerprint.model, fingerprint.model)
    embedder = create_embedder(name, dimension=fingerprint.dimension)
    if embedder.fingerprint != fingerprint:
        raise EmbedderMismatchError(
            f"The vectors were made by {_described(fingerprint)}, but installed is {_described(embedder.fingerprint)}: run `alma reindex`"
        )
    return embedder


def embedder_names() -> list[str]:
    """All names that `create_embedder` takes here, sorted."""
    return sorted({MINILM, HASH, AUTO, *ALIASES, *_plugins()})


def minilm_is_installed() -> bool:
    """Whether `auto` takes the model. Imports nothing."""
    return all(find_spec(package) is not None for package in MINILM_PACKAGES)


def _builder(name: str) -> Callable[[int | None], Embedder]:
    plain = name.strip().lower().replace("_", "-")
    plain = ALIASES.get(plain, plain)
    if plain == AUTO:
        plain = MINILM if minilm_is_installed() else HASH
    if plain == MINILM:
        return _minilm
    if plain == HASH:
        return _hash
    if (plugin := _plugins().get(name)) is not None:
        return _plugin_builder(plugin)
    raise ConfigurationError(_refusal(name, plain))


def _minilm(dimension: int | None) -> Embedder:
    if dimension not in (None, MINILM_DIMENSION):
        raise ConfigurationError(f"The minilm embedder gives {MINILM_DIMENSION} dimensions, but {dimension} are configured")
    from alma.embedding.minilm import MiniLMEmbedder  # the runtime is loaded only by who uses it

    return MiniLMEmbedder()


def _hash(dimension: int | None) -> Embedder:
    return HashEmbedder() if dimension is None else HashEmbedder(dimension)


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
    if plain in RESERVED:
        return f"The embedder {plain!r} is not built yet. There is: {known}"
    near = get_close_matches(plain, embedder_names(), n=1)
    hint = f", did you mean {near[0]!r}?" if near else "."
    return f"There is no embedder {name[:100]!r}{hint} There is: {known}"


def _described(fingerprint: Fingerprint) -> str:
    return (
        f"{fingerprint.model} revision {fingerprint.revision} ({fingerprint.dimension} dimensions, {fingerprint.precision}, "
        f"{fingerprint.token_limit or 'no'} token limit, preparation {fingerprint.preparation})"
    )
