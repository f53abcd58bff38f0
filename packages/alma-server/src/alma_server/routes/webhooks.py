"""Routes over the receivers of events. A token sees its own; one with the right `admin` that reaches all agents and users sees all."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Query
from pydantic import Field

from alma.errors import MemoryNotFoundError
from alma_access import ANY, NONE, Access
from alma_events import MemoryEventType
from alma_events.webhooks import Delivery, Endpoint, Endpoints, WebhookConfig, WebhookDeliveryStatus, WebhookManager
from alma_events.webhooks.endpoints import OF_TOKEN
from alma_server.asking import Asked, AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import Answer
from alma_server.routes.bodies import Body, Name
from alma_server.routes.places import place
from alma_server.routes.scope import fields_of

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["webhooks"])

T = TypeVar("T")
WebhookId = Annotated[str, Path(max_length=200)]
Url = Annotated[str, Field(min_length=1, max_length=2_000, examples=["https://hooks.example.com/alma"])]
Events = Annotated[list[MemoryEventType], Field(max_length=100)]
Some = Annotated[list[Name], Field(max_length=100)]
Headers = Annotated[dict[Name, Annotated[str, Field(max_length=2_000)]], Field(max_length=20)]
Seconds = Annotated[float, Field(ge=0.1, le=60, allow_inf_nan=False)]


class AddWebhook(Body):
    """Receiver of events. `users` is "none", "all", or the name of a user."""

    url: Url
    events: Events = Field(default_factory=list)
    secret: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    headers: Headers = Field(default_factory=dict)
    agents: Some | None = None
    kinds: Some | None = None
    users: Name = "none"
    payload: Literal["thin", "full"] = "thin"
    ordering: Literal["memory", "strict", "none"] = "memory"
    max_retries: Annotated[int, Field(ge=0, le=50)] | None = None
    retry_delay: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = None
    retry_backoff: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)] | None = None
    timeout_seconds: Seconds | None = None
    batch_size: Annotated[int, Field(ge=1, le=100)] = 1
    batch_delay: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 1.0
    since: Annotated[str, Field(max_length=40, description="Position to begin after; now if left out.")] | None = None


class ChangeWebhook(Body):
    """Settings to change. What is left out stays."""

    url: Url | None = None
    events: Events | None = None
    headers: Headers | None = None
    agents: Some | None = None
    kinds: Some | None = None
    payload: Literal["thin", "full"] | None = None
    ordering: Literal["memory", "strict", "none"] | None = None
    timeout_seconds: Seconds | None = None
    is_enabled: bool | None = None


class Replay(Body):
    """Position after which all events are delivered once more."""

    since: Annotated[str, Field(min_length=1, max_length=40, examples=["4711"])]


class ShownWebhook(Answer):
    """Receiver, without its secret and the values of its headers. `secret` is that which was just made."""

    id: str
    url: str
    state: str
    reason: str
    created: datetime
    position: str
    events: list[str]
    headers: list[str]
    agents: list[str]
    kinds: list[str]
    users: str
    payload: str
    ordering: str
    deliveries: dict[str, int]
    secret: str | None = None


class Webhooks(Answer):
    """Receivers, the oldest first."""

    webhooks: list[ShownWebhook]


class ShownDelivery(Answer):
    """How the delivery of one event stands."""

    event_id: str
    event_type: str
    position: str
    status: WebhookDeliveryStatus
    attempts: int
    last_error: str | None
    status_code: int | None
    duration_ms: int | None
    last_attempt: datetime | None
    next_attempt: datetime | None


class Deliveries(Answer):
    """Deliveries, the newest first."""

    deliveries: list[ShownDelivery]


class Tested(Answer):
    """How a receiver answered a test: its status, 0 for none, and then the sort of error."""

    is_success: bool
    status: int
    error: str
    ms: int


@router.post("/webhooks", operation_id="add_webhook", status_code=201)
async def add_webhook(body: AddWebhook, asked: AskedDep, once: OnceDep) -> ShownWebhook:
    """Adds a receiver of what this token may read. Without a secret it gets one, which is shown only now."""
    asked.require("events")
    config, access = WebhookConfig(**fields_of(body, "since")), _access(asked, body.users)

    def call(alma: "ALMA") -> ShownWebhook:
        endpoints = Endpoints(alma)
        return _shown(endpoints, endpoints.add(config, access=access, owner=f"{OF_TOKEN}{asked.token.id}", since=body.since))

    made = await once.write(call, remember=lambda shown: shown.id, recall=lambda alma, made: _get(alma, asked, made))
    place(asked, "webhooks", made.id)
    return made


@router.get("/webhooks", operation_id="list_webhooks")
async def list_webhooks(asked: AskedDep) -> Webhooks:
    """Returns the receivers that this token may manage."""
    asked.require("events")

    def call(alma: "ALMA") -> Webhooks:
        endpoints = Endpoints(alma)
        return Webhooks(webhooks=[_shown(endpoints, each) for each in endpoints.listed(owner=_owner(asked))])

    return await asked.read(call)


@router.get("/webhooks/{webhook_id}", operation_id="get_webhook")
async def get_webhook(webhook_id: WebhookId, asked: AskedDep) -> ShownWebhook:
    """Returns a receiver, and how many deliveries wait or failed."""
    asked.require("events")
    return await asked.read(lambda alma: _get(alma, asked, webhook_id))


@router.patch("/webhooks/{webhook_id}", operation_id="change_webhook")
async def change_webhook(webhook_id: WebhookId, body: ChangeWebhook, asked: AskedDep) -> ShownWebhook:
    """Changes settings of a receiver; `is_enabled` stops deliveries, or goes on from where they stopped."""
    asked.require("events")
    settings = {name: value for name, value in fields_of(body, "is_enabled").items() if value is not None}

    def change(endpoints: Endpoints, owner: str | None) -> ShownWebhook:
        if body.is_enabled is not None:
            (endpoints.enable if body.is_enabled else endpoints.disable)(webhook_id, owner=owner)
        changed = endpoints.change(webhook_id, owner=owner, **settings) if settings else endpoints.get(webhook_id, owner=owner)
        return _shown(endpoints, changed)

    return await asked.write(lambda alma: _manage(alma, asked, change))


@router.delete("/webhooks/{webhook_id}", operation_id="remove_webhook", status_code=204)
async def remove_webhook(webhook_id: WebhookId, asked: AskedDep) -> None:
    """Removes a receiver, and what is known of its deliveries."""
    asked.require("events")
    await asked.write(lambda alma: _manage(alma, asked, lambda all_, owner: all_.remove(webhook_id, owner=owner)))


@router.post("/webhooks/{webhook_id}/test", operation_id="test_webhook")
async def test_webhook(webhook_id: WebhookId, asked: AskedDep) -> Tested:
    """Sends the event `webhook.test` to a receiver, and returns how it answered."""
    asked.require("events")

    def call(alma: "ALMA") -> Tested:
        _get(alma, asked, webhook_id)
        answer = WebhookManager(alma).test(webhook_id, owner=_owner(asked))
        return Tested(is_success=answer.is_success, status=answer.status, error=answer.error, ms=answer.ms)

    return await asked.read(call)


@router.post("/webhooks/{webhook_id}/secret:rotate", operation_id="rotate_webhook_secret")
async def rotate_webhook_secret(webhook_id: WebhookId, asked: AskedDep) -> ShownWebhook:
    """Gives a receiver a new secret, which is shown only now. The former one signs besides for 24 hours."""
    asked.require("events")
    return await asked.write(
        lambda alma: _manage(alma, asked, lambda all_, owner: _shown(all_, all_.rotate(webhook_id, owner=owner)))
    )


@router.get("/webhooks/{webhook_id}/deliveries", operation_id="webhook_deliveries")
async def webhook_deliveries(
    webhook_id: WebhookId,
    asked: AskedDep,
    status: Annotated[WebhookDeliveryStatus | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> Deliveries:
    """Returns how the newest deliveries to a receiver stand. They hold no words of memories and no answers."""
    asked.require("events")

    def call(endpoints: Endpoints, owner: str | None) -> Deliveries:
        found = endpoints.deliveries(webhook_id, status=status, limit=limit, owner=owner)
        return Deliveries(deliveries=[_shown_delivery(each) for each in found])

    return await asked.read(lambda alma: _manage(alma, asked, call))


@router.post("/webhooks/{webhook_id}/deliveries/{position}:retry", operation_id="retry_webhook_delivery", status_code=204)
async def retry_webhook_delivery(webhook_id: WebhookId, position: Annotated[str, Path(max_length=40)], asked: AskedDep) -> None:
    """Tries a delivery again that failed, at once."""
    asked.require("events")
    await asked.write(lambda alma: _manage(alma, asked, lambda all_, owner: all_.retry(webhook_id, position, owner=owner)))


@router.post("/webhooks/{webhook_id}/replay", operation_id="replay_webhook", status_code=204)
async def replay_webhook(webhook_id: WebhookId, body: Replay, asked: AskedDep) -> None:
    """Delivers all events after a position once more, with the same ids."""
    asked.require("events")
    await asked.write(
        lambda alma: _manage(alma, asked, lambda all_, owner: all_.replay(webhook_id, since=body.since, owner=owner))
    )


def _owner(asked: Asked) -> str | None:
    """Returns the owner whose receivers a request may manage, `None` for all."""
    access = asked.access
    is_for_all = "admin" in access.rights and access.agent == ANY and access.is_for_all_users
    return None if is_for_all else f"{OF_TOKEN}{asked.token.id}"


def _access(asked: Asked, users: str) -> Access:
    """Returns what a new receiver may read: what the token may, of the users that it names. `ScopeViolationError` if that is more."""
    if users == "none":
        user = NONE
    elif users == "all":
        user = asked.access.user_id
    else:
        user = asked.user(users) or NONE
    return replace(asked.access.within(asked.project or ""), user_id=user)


def _manage(alma: "ALMA", asked: Asked, call: Callable[[Endpoints, str | None], T]) -> T:
    """Calls with the receivers of a project and the owner. One that is another token's is not there."""
    try:
        return call(Endpoints(alma), _owner(asked))
    except MemoryNotFoundError:
        raise MemoryNotFoundError("there is no such webhook, or delivery, of this token") from None


def _get(alma: "ALMA", asked: Asked, webhook_id: str) -> ShownWebhook:
    return _manage(alma, asked, lambda all_, owner: _shown(all_, all_.get(webhook_id, owner=owner)))


def _shown(endpoints: Endpoints, endpoint: Endpoint) -> ShownWebhook:
    config = endpoint.config
    return ShownWebhook(
        id=endpoint.id,
        url=config.url,
        state=endpoint.state,
        reason=endpoint.reason,
        created=endpoint.created,
        position=str(endpoint.position),
        events=[str(each) for each in config.events],
        headers=sorted(config.headers),
        agents=list(config.agents or ()),
        kinds=list(config.kinds or ()),
        users=config.users,
        payload=config.payload,
        ordering=config.ordering,
        deliveries=endpoints.counts(endpoint.id),
        secret=endpoint.new_secret,
    )


def _shown_delivery(delivery: Delivery) -> ShownDelivery:
    shown: dict[str, Any] = {name: getattr(delivery, name) for name in ShownDelivery.model_fields}
    return ShownDelivery(**shown)
