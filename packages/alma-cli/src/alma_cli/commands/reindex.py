"""`alma reindex`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable


def reindex(
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", "-e", help="The embedder to change to.", show_default="the configured one"),
    ] = None,
    dimension: Annotated[int | None, typer.Option("--dimension", help="Its dimension, where it has a choice.")] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Embed the whole store, all its projects, with another embedder. The old vectors serve until the new ones are all there.

    \b
    After an interruption, another call with the same embedder continues where it stopped.

    \b
    Examples:
      alma reindex --embedder minilm
      alma reindex                       to the embedder that the configuration names
      alma reindex --embedder hash --dimension 512 --json
    """
    from alma import ALMA
    from alma.config import load_settings
    from alma.embedding import create_embedder
    from alma.encryption import configured_key

    path = config_path(config)
    settings = load_settings(path)
    name = embedder or settings.embedding_provider
    is_configured = embedder in (None, settings.embedding_provider)
    wanted = dimension or (settings.embedding_dim if is_configured else None)
    chosen = create_embedder(name, dimension=wanted, options=settings.embedder_options)
    with (
        ALMA.open(
            settings.storage_dir,
            project_id=settings.project_id,
            db_name=settings.db_name,
            encryption_key=configured_key(settings),
            storage=settings.storage,
            storage_options=settings.storage_options,
            create=False,
        ) as alma,
        _bar(json) as progress,
    ):
        report = alma.reindex(chosen, progress)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    out = console()
    done = (
        f"embedded {report.embedded:,} of {report.texts:,} texts, the others were done before"
        if report.texts
        else "there was nothing to do"
    )
    out.print(printable(f"From {report.before} to {report.after} ({report.dimension} dimensions): {done}"), soft_wrap=True)
    if not is_configured and settings.embedding_provider != "auto":
        out.print(printable(f"Next: set `embedding_provider: {name}` in {path}"), soft_wrap=True)


@contextmanager
def _bar(is_hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Shows a progress bar on standard error, if that is a terminal."""
    if is_hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("Embedding", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
