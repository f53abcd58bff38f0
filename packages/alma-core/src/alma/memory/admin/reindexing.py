"""Rebuilds content of a whole store: vectors by another embedder, damaged content from the journals."""

from collections.abc import Sequence

from alma.embedding import create_embedder
from alma.errors import ConfigurationError, EmbeddingError
from alma.memory import arguments as args
from alma.memory.arguments import Progress
from alma.memory.room import OpenStore
from alma.memory.texts import TextVectors
from alma.protocols import Embedder, NextVectors, Rebuildable, Reembeddable, Unembedded
from alma.types.identity import Fingerprint, to_micros
from alma.types.reports import ReindexReport, VerifyReport

BATCH = 256
"""Number of passages embedded and stored at a time, which a crash can lose."""


def reindex(
    store: OpenStore, *, embedder: object, dimension: int | None = None, progress: Progress | None = None
) -> ReindexReport:
    """Embeds every project of the store with another embedder. The old vectors serve until all new ones are there."""
    storage = store.storage
    if not isinstance(storage, Reembeddable):
        raise ConfigurationError("this storage cannot change its embedder; export it and import it into a new one")
    args.check_embedder(embedder, dimension)
    if progress is not None:
        args.checked_call(progress, "progress")
    chosen: Embedder = (
        create_embedder(embedder, dimension=dimension, options=store.embedder_options) if isinstance(embedder, str) else embedder  # type: ignore[assignment] # checked above
    )
    texts = TextVectors.made_by(chosen, is_own=isinstance(embedder, str))
    unused = texts
    try:
        serving = storage.renewed().fingerprint
        embedded, total = (0, 0) if serving == chosen.fingerprint else _replace_all(storage, texts, progress)
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
    """Returns an embedder's name for a person."""
    return " ".join(part for part in (fingerprint.model, fingerprint.revision) if part)


def verify(store: OpenStore, *, rebuild: bool = False) -> VerifyReport:
    """Returns the problems of the store; with `rebuild`, those fixed and those that remain."""
    storage = store.storage
    if not rebuild:
        return storage.verify()
    if not isinstance(storage, Rebuildable):
        raise ConfigurationError("this storage cannot be rebuilt; restore it from a backup")
    texts = storage.unembedded()
    vectors = dict(zip(texts, store.texts.embedded(texts), strict=True))
    report = storage.rebuild(vectors, at=to_micros(store.clock()))
    store.drop_snapshots()
    for room in list(store.projects.values()):
        room.projections.drop()
    return report


def _replace_all(storage: Reembeddable, texts: TextVectors, progress: Progress | None) -> tuple[int, int]:
    """Creates missing vectors until none is missing, and switches. Memories that others write meanwhile need vectors too."""
    vectors = storage.next_vectors(texts.fingerprint)
    embedded = 0
    while True:
        embedded += _embed_missing(vectors, texts, progress)
        _embed_compared(vectors, texts)
        if vectors.switch():
            return embedded, vectors.progress()[1]


def _embed_missing(vectors: NextVectors, texts: TextVectors, progress: Progress | None) -> int:
    before, total = vectors.progress()
    done, after = before, 0
    progress = progress or (lambda done, total: None)
    progress(done, max(done, total))
    while batch := vectors.missing(after=after, limit=BATCH):
        after = batch[-1].row
        done += vectors.put(_embed_batch(batch, texts, done, total))
        progress(done, max(done, total))
    return done - before


def _embed_compared(vectors: NextVectors, texts: TextVectors) -> None:
    """Embeds the texts by which strategies are compared. Without these vectors, a rephrased strategy would count as a new one."""
    missing = vectors.compared()
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        vectors.put_compared(dict(zip(batch, texts.embedded([text for _, text in batch]), strict=True)))


def _embed_batch(batch: Sequence[Unembedded], texts: TextVectors, done: int, total: int) -> dict[Unembedded, bytes]:
    """Returns one vector for each text of each project; equal texts are embedded once."""
    passages = {(passage.project, passage.text): passage for passage in batch}.values()
    distinct = list(dict.fromkeys(passage.text for passage in passages))
    try:
        found = dict(zip(distinct, texts.embedded(distinct), strict=True))
    except EmbeddingError as error:
        message = str(error).removesuffix("; nothing was stored")
        raise type(error)(f"{message}; {done} of {total} texts are done and kept, run it again to go on") from error
    return {passage: found[passage.text] for passage in passages}
