"""The key `webhooks:` of a configuration: receivers that follow the file."""

import hashlib
from collections.abc import Mapping, Sequence

from alma.errors import ConfigurationError, ValidationError
from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.endpoints import Endpoint, Endpoints
from alma_events.webhooks.positions import CONFIGURED, KeptPositions


def check_webhooks(given: object, prefix: str = "") -> list[WebhookConfig]:
    """Returns the receivers of a configuration. `ConfigurationError` names the entry and the key that is wrong."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ConfigurationError(f"{prefix}webhooks: must be a list of receivers, each with a url")
    found = [_checked(each, f"{prefix}webhooks.{number}") for number, each in enumerate(given)]
    urls = [each.url for each in found]
    if len(set(urls)) < len(urls):
        raise ConfigurationError(f"{prefix}webhooks: has a url twice; give it all its events in one entry")
    return found


def _checked(given: object, place: str) -> WebhookConfig:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{place}: must hold `key: value` lines, as `url: https://…`")
    try:
        return WebhookConfig.from_dict(given).checked()
    except ValidationError as error:
        raise ConfigurationError(f"{place}: {error}") from error


def follow_configuration(endpoints: Endpoints, kept: KeptPositions, configs: Sequence[WebhookConfig]) -> list[Endpoint]:
    """Adds, changes and removes the endpoints of a configuration until they are as it says. Positions stay, also where the side database was lost;
    a new secret replaces the former one, which signs besides for a day. Endpoints that were added otherwise stay as they are."""
    wanted = {_id(endpoints, each): each for each in configs}
    known = {each.id: each for each in endpoints.listed(owner=CONFIGURED)}
    for name in known.keys() - wanted.keys():
        endpoints.remove(name)
    kept.drop_others(wanted)
    found = [_follow(endpoints, kept, name, config, known.get(name)) for name, config in wanted.items()]
    for endpoint in found:
        if kept.find(endpoint.id) is None:
            kept.keep(endpoint.id, endpoint.position)
    return found


def _follow(endpoints: Endpoints, kept: KeptPositions, name: str, config: WebhookConfig, known: Endpoint | None) -> Endpoint:
    if known is None:
        position = kept.find(name)
        return endpoints.add(config, owner=CONFIGURED, endpoint_id=name, since=None if position is None else str(position))
    settings = {key: value for key, value in config.to_dict().items() if key != "secret"}
    if settings != {key: value for key, value in known.config.to_dict().items() if key != "secret"}:
        known = endpoints.change(name, **settings)
    if config.secret is not None and config.secret != known.keys[0]:
        known = endpoints.rotate(name, secret=config.secret)
    return known


def _id(endpoints: Endpoints, config: WebhookConfig) -> str:
    """Returns the same id for the same URL in the same project, also where the side database was lost."""
    return "wh_" + hashlib.sha256(f"{endpoints.project}\0{config.url}".encode()).hexdigest()[:16]
