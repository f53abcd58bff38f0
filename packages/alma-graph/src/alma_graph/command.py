"""`alma graph`, which this package adds to the command line."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import ValidationError
from alma_cli.options import TIME, TIME_FORMATS, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable, table

if TYPE_CHECKING:
    from alma import ALMA
    from alma_graph.types import Relationship

SHOWN = 50


class View(StrEnum):
    """View of the graph that the command shows."""

    SHOW = "show"
    ABOUT = "about"
    PATH = "path"


def graph(
    view: Annotated[
        View, typer.Argument(help="show lists entities, or the relations of one; about writes its page; path joins two.")
    ],
    names: Annotated[list[str] | None, typer.Argument(help="Names or ids of entities.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="As this agent sees it; all agents by default.")] = None,
    user_id: UserOption = None,
    as_of: Annotated[datetime | None, typer.Option(help="What held then (UTC).", formats=TIME_FORMATS, metavar=TIME)] = None,
    max_tokens: Annotated[int, typer.Option(help="Length of the page of about, in tokens.")] = 800,
    read: Annotated[bool, typer.Option("--read", help="Read new memories for entities first.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show entities and dated relations of what the memories speak of.

    \b
    Examples:
      alma graph show --read
      alma graph about "Acme Corp"
      alma graph path Alice Berlin
    """
    from alma import ALMA

    given = list(names or ())
    with ALMA.from_config(config_path(config), create=False) as alma:
        if read:
            alma.graph.read_memories()
        answer = _answer(alma, view, given, as_of=as_of, max_tokens=max_tokens, reader=(agent, user_id))
    if json:
        print_json(answer)
    elif "page" in answer:
        console().print(printable(answer["page"]), soft_wrap=True)
    else:
        _show(answer)


def _answer(
    alma: "ALMA",
    view: View,
    names: Sequence[str],
    *,
    as_of: datetime | None,
    max_tokens: int,
    reader: tuple[str | None, str | None],
) -> dict[str, Any]:
    wanted = {View.SHOW: (0, 1), View.ABOUT: (1,), View.PATH: (2,)}[view]
    if len(names) not in wanted:
        raise ValidationError(f"alma graph {view} takes {' or '.join(map(str, wanted))} names, not {len(names)}")
    graph, (agent, user_id) = alma.graph, reader
    if view is View.ABOUT:
        return {"page": str(graph.about(names[0], max_tokens=max_tokens, agent=agent, user_id=user_id))}
    if view is View.PATH:
        return {"relations": [_row(one) for one in graph.path(names[0], names[1], as_of=as_of, agent=agent, user_id=user_id)]}
    if names:
        return {"relations": [_row(one) for one in graph.relations(names[0], as_of=as_of, agent=agent, user_id=user_id)]}
    entities = graph.entities(limit=100_000, agent=agent, user_id=user_id)
    return {"entities": [{"id": one.id, "name": one.name, "type": one.entity_type} for one in entities]}


def _row(one: "Relationship") -> dict[str, Any]:
    times = {"since": one.valid_from, "until": one.valid_to}
    ends = {"source": one.properties["source"], "relation": one.relation_type, "target": one.properties["target"]}
    return {"id": one.id, **ends, **{name: None if at is None else f"{at:%Y-%m-%d}" for name, at in times.items()}}


def _show(answer: dict[str, Any]) -> None:
    (rows,) = answer.values()
    if not rows:
        console().print("nothing is known")
        return
    names = [name for name in rows[0] if name != "id"]
    console().print(table(tuple(names), [tuple(str(row[name] or "") for name in names) for row in rows[:SHOWN]]))
    if len(rows) > SHOWN:
        console().print(f"and {len(rows) - SHOWN} more; --json lists all")
