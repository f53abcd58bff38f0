"""`alma retrieve`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.options import (
    AgentOption,
    AsOfOption,
    ConfigOption,
    JsonOption,
    SinceOption,
    TaskTypeOption,
    UntilOption,
    UserOption,
    VerifiedOption,
    config_path,
)
from alma_cli.output import console, print_json, printable, write_text
from alma_cli.slices import slice_table
from alma_cli.walls import other_users

if TYPE_CHECKING:
    from alma.types import MemorySlice


def retrieve(
    task: Annotated[str, typer.Argument(help="What is about to be done.")],
    agent: AgentOption,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="Show at most this number of each kind.")] = 5,
    user_id: UserOption = None,
    task_type: TaskTypeOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the numbers behind each memory.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the text for a prompt instead of a table.")] = False,
    max_tokens: Annotated[int, typer.Option(min=0, help="Budget of that text.")] = 2000,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    verified: VerifiedOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Ask what is known before a task.

    \b
    Examples:
      alma retrieve "Test the sign-up form" --agent helena
      alma retrieve "Deploy the auth service" -a victor --prompt --max-tokens 500
      alma retrieve "Deploy the auth service" -a victor --task-type deployment
      alma retrieve "Deploy the auth service" -a victor --json
      alma retrieve "Deploy the auth service" -a victor --explain
      alma retrieve "Deploy the auth service" -a victor --since 2026-03-01 --verified
    """
    from alma import ALMA

    shows_hint = not prompt
    with ALMA.from_config(config_path(config), create=False) as alma, _log_without_hints() if shows_hint else nullcontext():
        ask = partial(
            alma.retrieve,
            task=task,
            agent=agent,
            top_k=top_k,
            task_type=task_type,
            since=since,
            until=until,
            as_of=as_of,
            verified=verified,
        )
        memories = ask(user_id=user_id, explain=explain)
        is_said = bool(memories.total_items) or json or prompt
        others = "" if is_said else other_users(alma, agent, user_id, lambda user: bool(ask(user_id=user).total_items))
    if json:
        print_json({**memories.to_dict(), "prompt": memories.to_prompt(max_tokens=max_tokens)})
    elif prompt:
        write_text(printable(f"{memories.to_prompt(max_tokens=max_tokens)}\n"))
    else:
        _show(memories, others)


@contextmanager
def _log_without_hints() -> Iterator[None]:
    """Suppresses hints in the log, because the slice contains them."""
    log = logging.getLogger("alma")
    log.addFilter(_is_no_hint)
    try:
        yield
    finally:
        log.removeFilter(_is_no_hint)


def _is_no_hint(record: logging.LogRecord) -> bool:
    return not getattr(record, "is_hint", False)


def _show(memories: "MemorySlice", others: str) -> None:
    out = console()
    if memories.total_items:
        out.print(slice_table(memories))
        for item in memories.recalled:
            if item.explanation:
                explained = "\n  ".join(item.explanation.lines())
                out.print(printable(f"[{item.tag}] {item.memory.id}\n  {explained}"), soft_wrap=True)
        for pair in memories.contradictions:
            left_out = " (left out)" if pair.is_left_out else ""
            out.print(printable(f"Contradiction: {pair}{left_out}"), soft_wrap=True)
    else:
        hint = f"; {memories.hint}" if memories.hint else ""
        out.print(printable(f"Nothing is known about that yet{hint}{others}"), soft_wrap=True)
