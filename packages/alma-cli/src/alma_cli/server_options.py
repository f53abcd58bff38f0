"""Options of `alma token` and `alma webhooks`."""

from typing import Annotated

import typer

DEFAULT_RIGHTS = ("read", "write")

ProjectsOption = Annotated[
    list[str] | None,
    typer.Option("--project", help="A project that the token reaches; '*': all. May be repeated.", show_default="this one"),
]
OnlyAgentOption = Annotated[str | None, typer.Option("--agent", "-a", help="The only agent it acts as.", show_default="any")]
OnlyUserOption = Annotated[
    str | None, typer.Option("--user", "--user-id", "-u", help="The only user it serves.", show_default="any")
]
NoUserOption = Annotated[bool, typer.Option("--no-user", help="It can name no user.")]
RightsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--right",
        help="read, write, forget, judge, events, sync or admin. May be repeated.",
        show_default=", ".join(DEFAULT_RIGHTS),
    ),
]
SourceOption = Annotated[
    str, typer.Option("--source", help="Who judges where it states outcomes: agent, caller, evaluator, tool or person.")
]
ExpiresOption = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="How long it is valid: 15m, 12h, 30d, 8w.", show_default="for ever"),
]

UrlArgument = Annotated[str, typer.Argument(help="Where events are sent: https://…")]
EventsOption = Annotated[
    list[str] | None, typer.Option("--event", "-e", help="A type of event. May be repeated.", show_default="all types")
]
AgentsOption = Annotated[
    list[str] | None, typer.Option("--agent", "-a", help="Only this agent's. May be repeated.", show_default="all agents")
]
KindsOption = Annotated[
    list[str] | None, typer.Option("--kind", help="Only this kind of memory. May be repeated.", show_default="all kinds")
]
UsersOption = Annotated[str, typer.Option("--users", help="What was recorded for users: none, all, or the name of one.")]
PayloadOption = Annotated[str, typer.Option("--payload", help="thin: ids and numbers; full: the words of memories, too.")]
OrderingOption = Annotated[str, typer.Option("--ordering", help="memory, strict or none.")]
SinceRecordOption = Annotated[
    str | None, typer.Option("--since", metavar="SEQ", help="Begin behind this journal record.", show_default="now")
]
SecretEnvOption = Annotated[
    str | None,
    typer.Option("--secret-env", metavar="NAME", help="The variable that has the secret.", show_default="a new secret"),
]
AllowHttpOption = Annotated[bool, typer.Option("--allow-http", help="Allow http:// without encryption.")]
AllowOption = Annotated[
    list[str] | None, typer.Option("--allow", help="A host or network inside that may be called. May be repeated.")
]
