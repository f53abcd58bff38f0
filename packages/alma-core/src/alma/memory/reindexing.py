"""Re-embedding a whole store: the old vectors serve until all new ones are there."""

from collections.abc import Callable, Sequence

from alma.embedding import create_embedder
from alma.errors import ConfigurationError, EmbeddingError
from alma.memory import arguments as args
from alma.memory import opening
from alma.memory.room import OpenStore
from alma.memory.texts import TextVectors
from alma.protocols import Embedder, NextVectors, Reembeddable, Unembedded
from alma.types.embedding import Fingerprint
from alma.types.reports import ReindexReport

BATCH = 256
"""So many passages are embedded and kept at a time; what a crash can undo."""

Progress = Callable[[int, int], None]
"""Told how many texts are done, and how many there are."""


def reindex(
    store: OpenStore, *, embedder: object, dimension: int | None = None, progress: Progress | None = None
) -> ReindexReport:
    """Every project of the store under another embedder."""
    storage = store.storage
    if not isinstance(storage, Reembeddable):
        raise ConfigurationError("this storage cannot change its embedder; export it and import it into a new one")
    opening.check_embedder(embedder, dimension)
    if progress is not None:
        args.checked_call(progress, "progress")
    chosen: Embedder = (
        create_embedder(embedder, dimension=dimension, options=store.embedder_options) if isinstance(embedder, str) else embedder  # type: ignore[assignment] # checked above
    )
    texts = TextVectors.made_by(chosen, is_own=isinstance(embedder, str))
    unused = texts
    try:
        serving = storage.renewed().fingerprint
        embedded, total = (0, 0) if serving == chosen.fingerprint else _replaced(storage, texts, progress)
        if store.texts.fingerprint != chosen.fingerprint or embedded:
            store.succeed(storage.renewed(), texts)
            unused = store.texts
    finally:
        unused.close()
    storage.drop_left_over()
    return ReindexReport(
        before=described(serving),
        after=described(chosen.fingerprint),
        dimension=chosen.fingerprint.dimension,
        texts=total,
        embedded=embedded,
    )


def described(fingerprint: Fingerprint) -> str:
    """An embedder as a person knows it."""
    return " ".join(part for part in (fingerprint.model, fingerprint.revision) if part)


def _replaced(storage: Reembeddable, texts: TextVectors, progress: Progress | None) -> tuple[int, int]:
    """Makes what is missing until nothing is, and switches. What others write meanwhile has to be made too."""
    vectors = storage.next_vectors(texts.fingerprint)
    embedded = 0
    while True:
        embedded += _filled(vectors, texts, progress)
        _compare_again(vectors, texts)
        if vectors.switch():
            return embedded, vectors.progress()[1]


def _filled(vectors: NextVectors, texts: TextVectors, progress: Progress | None) -> int:
    before, total = vectors.progress()
    done, after = before, 0
    _tell(progress, done, total)
    while batch := vectors.missing(after=after, limit=BATCH):
        after = batch[-1].row
        done += vectors.put(_made(batch, texts, done, total))
        _tell(progress, done, total)
    return done - before


def _compare_again(vectors: NextVectors, texts: TextVectors) -> None:
    """Embeds what strategies are compared by: without, one told in other words would be taken for a new one."""
    missing = vectors.compared()
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        vectors.put_compared(dict(zip(batch, texts.embedded([text for _, text in batch]), strict=True)))


def _made(batch: Sequence[Unembedded], texts: TextVectors, done: int, total: int) -> dict[Unembedded, bytes]:
    """One vector for each text of each project; equal texts are embedded once."""
    passages = {(passage.project, passage.text): passage for passage in batch}.values()
    distinct = list(dict.fromkeys(passage.text for passage in passages))
    try:
        found = dict(zip(distinct, texts.embedded(distinct), strict=True))
    except EmbeddingError as error:
        told = str(error).removesuffix("; nothing was stored")
        raise type(error)(f"{told}; {done} of {total} texts are done and kept, run it again to go on") from error
    return {passage: found[passage.text] for passage in passages}


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, max(done, total))
