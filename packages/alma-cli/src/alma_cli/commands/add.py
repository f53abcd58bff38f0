"""`alma add`."""

import json as json_text
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from alma.errors import ValidationError
from alma.text import quoted
from alma_cli.options import ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable


def add(
    kind: Annotated[str, typer.Argument(help="heuristic, anti_pattern, domain_knowledge …, or a kind that was registered.")],
    fields: Annotated[
        list[str], typer.Argument(metavar="FIELD=VALUE...", help="Its fields; a list repeats the field, or is JSON.")
    ],
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Whose memory.")] = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Add a memory of any kind.

    \b
    Examples:
      alma add domain_knowledge -a helena domain=authentication fact="Tokens last 24 hours"
      alma add anti_pattern -a helena pattern="Using sleep()" why_bad="Flaky" better_alternative="Explicit waits"
      alma add meeting_note -a dev title=Kickoff attendees=Ann attendees=Bo summary="We chose PostgreSQL" --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config)) as alma:
        known = alma.memory_types()
        given = parsed(fields, known[kind].fields if kind in known else {})
        if user_id is not None and given.setdefault("user_id", user_id) != user_id:
            raise ValidationError("user_id and --user-id name two users")
        added = alma.add(kind, agent, **given)
    if json:
        print_json(added.model_dump(mode="json"))
        return
    console().print(printable(f"Added {added.kind.replace('_', ' ')}: {added.id}"), soft_wrap=True)


def parsed(pairs: Iterable[str], types: Mapping[str, Any]) -> dict[str, Any]:
    """Parses the fields on a command line. `ValidationError` for a word that is no field, or a field given twice."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name or name in ("kind", "agent", "metadata"):
            raise ValidationError(f"{quoted(pair)} should be FIELD=VALUE with a field of the kind, such as domain=authentication")
        outer = _outer(types.get(name, str))
        if outer is list:
            found = _from_json(text)
            values.setdefault(name, []).extend(found if isinstance(found, list) else [text])
        elif name in values:
            raise ValidationError(f"{quoted(name)} is given twice, and it is no list")
        elif outer in (dict, Any):
            found = _from_json(text)
            values[name] = text if found is None else found
        else:
            values[name] = int(text) if name == "duration_ms" and text.isdecimal() else text
    return values


def _outer(given: Any) -> Any:
    """Returns `list` for `list[str] | None`."""
    inner = get_args(given)
    return _outer(inner[0]) if NoneType in inner else get_origin(given) or given


def _from_json(text: str) -> Any:
    try:
        return json_text.loads(text)
    except (ValueError, RecursionError):
        return None
