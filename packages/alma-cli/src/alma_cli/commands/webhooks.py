"""`alma webhooks`: the receivers of this memory's events."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alma.errors import ConfigurationError, MissingDependencyError, install_line
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table
from alma_cli.server_options import (
    AgentsOption,
    AllowHttpOption,
    AllowOption,
    EventsOption,
    KindsOption,
    OrderingOption,
    PayloadOption,
    SecretEnvOption,
    SinceRecordOption,
    UrlArgument,
    UsersOption,
)

if TYPE_CHECKING:
    from alma_events.webhooks import Endpoint, WebhookManager

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the receiver, as in `alma webhooks list`.")]


@app.callback()
def webhooks() -> None:
    """Add, list, test and look after receivers of events. `alma serve` or `alma webhooks run` delivers to them.

    \b
    Examples:
      alma webhooks add https://hooks.example.com/alma --event memory.created
      alma webhooks list
      alma webhooks test wh_4e61d12944f22326
      alma webhooks deliveries wh_4e61d12944f22326 --status failed
      alma webhooks replay wh_4e61d12944f22326 --since 4711
    """


@app.command()
def add(
    url: UrlArgument,
    event: EventsOption = None,
    agent: AgentsOption = None,
    kind: KindsOption = None,
    users: UsersOption = "none",
    payload: PayloadOption = "thin",
    ordering: OrderingOption = "memory",
    since: SinceRecordOption = None,
    secret_env: SecretEnvOption = None,
    allow_http: AllowHttpOption = False,
    allow: AllowOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Add a receiver, and print its new secret. The secret is shown only now.

    \b
    Examples:
      alma webhooks add https://hooks.example.com/alma
      alma webhooks add https://hooks.example.com/alma -e memory.created -e heuristic.formed --secret-env HOOK_SECRET
      alma webhooks add http://127.0.0.1:8080/alma --allow-http --allow 127.0.0.1
    """
    with _managed(config) as manager:
        from alma_events.webhooks import WebhookConfig

        wanted = WebhookConfig(
            url,
            event or [],
            secret=None if secret_env is None else _secret_in(secret_env),
            agents=agent,
            kinds=kind,
            users=users,
            payload=payload,  # type: ignore[arg-type] # checked by the manager
            ordering=ordering,  # type: ignore[arg-type]
            allow_http=allow_http,
            allow=allow or (),
        )
        _print_new(manager.add_webhook(wanted, since=since), as_json=json)


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the receivers, without their secrets, and how many deliveries wait or failed.

    \b
    Examples:
      alma webhooks list
      alma webhooks list --json
    """
    with _managed(config, follows=True) as manager:
        found = [(each, manager.endpoints.counts(each.id)) for each in manager.endpoints.listed()]
    if json:
        print_json({"webhooks": [{**each.to_dict(), "deliveries": counts} for each, counts in found]})
        return
    if not found:
        console().print("There is no receiver. `alma webhooks add URL` adds one.", soft_wrap=True)
        return
    rows = [
        (each.id, _shown(each), _state(each), counts.get("pending", 0) + counts.get("retrying", 0), counts.get("failed", 0))
        for each, counts in found
    ]
    console().print(table(("id", "receiver", "state", "waiting", "failed"), rows, right=("waiting", "failed"), whole=("id",)))


@app.command("test")
def try_(endpoint: IdArgument, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Send the event webhook.test to a receiver, and print how it answered. Ends with 1 where that failed.

    \b
    Examples:
      alma webhooks test wh_4e61d12944f22326
    """
    with _managed(config) as manager:
        answer = manager.test(endpoint)
    if json:
        print_json(
            {"success": answer.is_success, "status": answer.status or None, "error": answer.error or None, "ms": answer.ms}
        )
    else:
        said = f"answered {answer.status}" if answer.status else f"did not answer: {answer.error}"
        console().print(f"The receiver {said}, after {answer.ms} ms.", soft_wrap=True)
    if not answer.is_success:
        raise typer.Exit(1)


@app.command()
def deliveries(
    endpoint: IdArgument,
    status: Annotated[
        str | None, typer.Option("--status", help="pending, retrying, success or failed.", show_default="all")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="At most so many.")] = 20,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the newest deliveries to a receiver. Neither words of memories nor its answers are kept.

    \b
    Examples:
      alma webhooks deliveries wh_4e61d12944f22326
      alma webhooks deliveries wh_4e61d12944f22326 --status failed --json
    """
    with _managed(config) as manager:
        found = manager.endpoints.deliveries(endpoint, status=status, limit=limit)
    if json:
        listed = [
            {
                "event": each.event_id,
                "type": each.event_type,
                "position": each.position,
                "status": each.status.value,
                "attempts": each.attempts,
                "error": each.last_error,
                "next_attempt": each.next_attempt and each.next_attempt.isoformat(),
            }
            for each in found
        ]
        print_json({"deliveries": listed})
        return
    if not found:
        console().print("There is no such delivery.", soft_wrap=True)
        return
    rows = [
        (each.position, each.event_type, each.status.value, each.attempts, each.last_error or "", _minute(each.next_attempt))
        for each in found
    ]
    console().print(table(("position", "event", "status", "attempts", "error", "next (UTC)"), rows, right=("attempts",)))


@app.command()
def replay(
    endpoint: IdArgument,
    since: Annotated[str, typer.Option("--since", metavar="SEQ", help="The journal record behind which to begin; 0 for all.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Deliver all events behind a record of the journal once more, with the same ids. What was purged is not in them.

    \b
    Examples:
      alma webhooks replay wh_4e61d12944f22326 --since 4711
      alma webhooks replay wh_4e61d12944f22326 --since 0
    """
    with _managed(config) as manager:
        manager.endpoints.replay(endpoint, since=since)
    _confirm({"replayed": endpoint, "since": since}, f"Events behind {since} are delivered again.", as_json=json)


@app.command()
def rotate(
    endpoint: IdArgument,
    secret_env: SecretEnvOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Replace the secret of a receiver, and print the new one. For 24 hours both sign.

    \b
    Examples:
      alma webhooks rotate wh_4e61d12944f22326
    """
    with _managed(config) as manager:
        made = manager.endpoints.rotate(endpoint, secret=None if secret_env is None else _secret_in(secret_env))
    _print_new(made, as_json=json)


@app.command()
def disable(
    endpoint: IdArgument,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it with its position and deliveries.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Stop deliveries to a receiver. Its position stays, so `alma webhooks enable` goes on from there.

    \b
    Examples:
      alma webhooks disable wh_4e61d12944f22326
      alma webhooks disable wh_4e61d12944f22326 --remove
    """
    with _managed(config) as manager:
        if remove:
            manager.endpoints.remove(endpoint)
        else:
            manager.endpoints.disable(endpoint)
    _confirm({"removed" if remove else "disabled": endpoint}, f"{'Removed' if remove else 'Disabled'} {endpoint}.", as_json=json)


@app.command()
def enable(endpoint: IdArgument, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Go on with deliveries to a receiver from where they stopped.

    \b
    Examples:
      alma webhooks enable wh_4e61d12944f22326
    """
    with _managed(config) as manager:
        manager.endpoints.enable(endpoint)
    _confirm({"enabled": endpoint}, f"Enabled {endpoint}.", as_json=json)


@app.command()
def run(config: ConfigOption = None) -> None:
    """Deliver events to the receivers until it is interrupted. A server of this memory does so itself.

    \b
    Examples:
      alma webhooks run
    """
    with _managed(config, follows=True) as manager:
        manager.start()
        console(stderr=True).print(f"Delivering to {manager.webhook_count} receivers. Ctrl+C ends it.", soft_wrap=True)
        try:
            while manager.is_running:
                time.sleep(1.0)
        except KeyboardInterrupt:
            manager.stop()


@contextmanager
def _managed(config: Path | None, *, follows: bool = False) -> "Iterator[WebhookManager]":
    """Opens the memory with its receivers; those of the configuration are brought up to date if it `follows`."""
    if find_spec("alma_events") is None:
        raise MissingDependencyError(f"webhooks are not installed: {install_line('events')}")
    from alma import ALMA
    from alma.config import load_settings
    from alma_access import TokenFile
    from alma_events.webhooks import WebhookManager

    path = config_path(config)
    with ALMA.from_config(path, create=False) as alma:
        settings = load_settings(path)
        manager = WebhookManager(alma, is_token=TokenFile(Path(settings.storage_dir)).is_current)
        if follows:
            manager.configure(settings.webhooks)
        yield manager


def _secret_in(name: str) -> str:
    """Returns the secret in a variable of the environment: as an argument, every process on the machine would see it."""
    if not (secret := os.environ.get(name)):
        raise ConfigurationError(f"--secret-env: the environment variable {name} is not set")
    return secret


def _print_new(endpoint: "Endpoint", *, as_json: bool) -> None:
    if as_json:
        print_json({"webhook": endpoint.to_dict(), "secret": endpoint.new_secret})
        return
    console().print(printable(f"{endpoint.id}  {_shown(endpoint)}"), soft_wrap=True)
    if endpoint.new_secret is not None:
        console().print(f"secret: {endpoint.new_secret}", soft_wrap=True)
        if sys.stdout.isatty():
            console(stderr=True).print("The secret is shown only now.", soft_wrap=True)


def _confirm(said: dict[str, object], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(said)
    else:
        console().print(printable(line), soft_wrap=True)


def _shown(endpoint: "Endpoint") -> str:
    """Returns the receiver without its path, which may hold a secret."""
    return endpoint.config.guard.check_url(endpoint.config.url).shown


def _state(endpoint: "Endpoint") -> str:
    return f"{endpoint.state}: {endpoint.reason}" if endpoint.reason else endpoint.state


def _minute(at: object) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"
