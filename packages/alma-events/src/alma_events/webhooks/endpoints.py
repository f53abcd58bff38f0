"""`Endpoints`: the receivers of a store, with their secrets, and how their deliveries stand. Kept in its side database."""

import json
import secrets as random_secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.engine import Connection, Row

from alma import ALMA
from alma.errors import AlmaError, ConflictError, CorruptStoreError, MemoryNotFoundError, ValidationError
from alma.storage.relational.session import OpenSeal, Seal
from alma.text import quoted
from alma.types.identity import from_micros
from alma_access import ANY, NONE, Access
from alma_events.service_db import DURABLE, MICROSECONDS, READS, create_tables, empty_log, service_engine
from alma_events.webhooks.config import ALL_USERS, NO_USERS, WebhookConfig
from alma_events.webhooks.guard import Resolve, check_target, resolve_host
from alma_events.webhooks.positions import KeptPositions
from alma_events.webhooks.rows import NEW, WAITING, Delivery, Position, WebhookDeliveryStatus
from alma_events.webhooks.signing import check_secret, new_secret

ACTIVE, PAUSED, DISABLED = "active", "paused", "disabled"
BY_REQUEST = "by request"
OF_TOKEN = "token:"  # noqa: S105 - no secret
"""Begins the owner of an endpoint that the client with a token added. The id of the token follows."""

FORMER_SECRET_SECONDS = 24 * 3_600
PLACE = "service.webhook"
"""The place of settings in the seal of an encrypted store."""

MOST_LISTED = 1_000

metadata = MetaData()
endpoints = Table(
    "webhook",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("store", String(64), nullable=False),
    Column("project", String(200), nullable=False),
    Column("owner", String(200), nullable=False),
    Column("settings", LargeBinary, nullable=False),
    Column("is_sealed", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", String(200), nullable=False, default=""),
    Column("created", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False, default=0),
    Column("failing_since", Float, nullable=False, default=0.0),
    Column("probes", Integer, nullable=False, default=0),
    Column("probe_at", Float, nullable=False, default=0.0),
    Column("seq", BigInteger, nullable=False),
    Column("idx", BigInteger, nullable=False),
    Column("chain", String(64), nullable=False, default=""),
    Column("first_seq", BigInteger, nullable=False),
    Column("matched", String(40)),
    Column("replay_until", BigInteger, nullable=False, default=0),
)
deliveries = Table(
    "webhook_delivery",
    metadata,
    Column("endpoint", String(40), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("idx", BigInteger, primary_key=True),
    Column("event_id", String(64), nullable=False),
    Column("event_type", String(40), nullable=False),
    Column("lane", String(200), nullable=False),
    Column("previous", String(40)),
    Column("tries", Integer, nullable=False, default=0),
    Column("due", Float, nullable=False, default=0.0),
    Column("status", String(10), nullable=False),
    Column("is_replay", Integer, nullable=False, default=0),
    Column("http_status", Integer, nullable=False, default=0),
    Column("error", String(40), nullable=False, default=""),
    Column("ms", Integer, nullable=False, default=0),
    Column("at", Float, nullable=False, default=0.0),
    Column("body", Text),
    Index("webhook_delivery_status", "endpoint", "status", "seq", "idx"),
)
rules = Table(
    "webhook_rules",
    metadata,
    Column("store", String(64), primary_key=True),
    Column("project", String(200), primary_key=True),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
)
"""What was known of the learned rules of a project when their last events were kept, without words."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A receiver as it is stored. Its settings are without the secret; `new_secret` has one only just after it was made."""

    id: str
    project: str
    owner: str
    config: WebhookConfig
    access: Access
    state: str
    reason: str
    created: datetime
    position: Position
    version: int
    failures: int = 0
    failing_since: float = 0.0
    probes: int = 0
    probe_at: float = 0.0
    keys: tuple[str, ...] = field(default=(), repr=False)
    new_secret: str | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns what may be shown to the endpoint's owner: neither secrets nor the values of headers."""
        settings = self.config.to_dict()
        settings["headers"] = sorted(settings.pop("headers"))
        return {
            "id": self.id,
            "project": self.project,
            "state": self.state,
            "reason": self.reason,
            "created": self.created.isoformat(),
            "position": str(self.position),
            **{name: value for name, value in settings.items() if name != "secret" and value not in (None, [], ())},
        }


class Endpoints:
    """The receivers of one project. Threads and processes may share them.

    `MemoryNotFoundError` for an id that the project does not have, or that belongs to another owner where one is given.
    """

    def __init__(self, alma: ALMA, *, clock: Callable[[], float] = time.time, resolve: Resolve = resolve_host) -> None:
        self._alma = alma
        self._clock, self._resolve = clock, resolve
        self.engine = service_engine(alma)
        create_tables(self.engine, metadata)

    @property
    def project(self) -> str:
        """The project whose events they get."""
        return self._alma.project_id

    def kept_positions(self) -> KeptPositions:
        """Returns the positions that outlive the side database."""
        return KeptPositions(self._alma)

    def add(
        self,
        config: WebhookConfig,
        *,
        access: Access | None = None,
        owner: str = "",
        since: str | int | None = None,
        endpoint_id: str | None = None,
    ) -> Endpoint:
        """Adds a receiver of what `access` may read, from now on or after a position. Without a secret it gets one, which `new_secret` has.

        `owner` is a name for whoever may manage it. `ValidationError` for settings that are wrong, and for an id that is taken.
        """
        config = replace(config).checked()
        check_target(config.guard, config.url, self._resolve)
        access = access or Access(user_id={NO_USERS: NONE, ALL_USERS: ANY}.get(config.users, config.users))
        position = Position(self._head()) if since is None else self._reached(since)
        made = new_secret() if config.secret is None else None
        key = made or config.secret or ""
        name = endpoint_id or f"wh_{random_secrets.token_hex(8)}"
        settings = _Settings({**config.to_dict(), "secret": None}, _plain_access(access), [(key, None)])
        row = {
            "id": name,
            "store": self._alma.storage.id,
            "project": self.project,
            "owner": owner,
            "state": ACTIVE,
            "version": 1,
            "created": self._now_micros(),
            "seq": position.seq,
            "idx": position.index,
            "first_seq": position.seq,
            **self._sealed(name, settings),
        }
        with self._writing() as connection:
            if connection.execute(select(endpoints.c.id).where(endpoints.c.id == name)).first():
                raise ValidationError(f"there is an endpoint {quoted(name)} already")
            connection.execute(endpoints.insert(), row)
        return replace(self.get(name), new_secret=made)

    def listed(self, *, owner: str | None = None) -> list[Endpoint]:
        """Returns the receivers, the oldest first; those of an owner if one is given."""
        wanted = self._mine().order_by(endpoints.c.created, endpoints.c.id)
        with self._reading() as connection:
            found = connection.execute(wanted if owner is None else wanted.where(endpoints.c.owner == owner)).all()
        return [self._endpoint(row) for row in found]

    def get(self, endpoint_id: str, *, owner: str | None = None) -> Endpoint:
        """Returns a receiver."""
        return self._endpoint(self._row(endpoint_id, owner))

    def change(self, endpoint_id: str, *, owner: str | None = None, **settings: Any) -> Endpoint:
        """Changes settings of a receiver, all but its secret."""
        if "secret" in settings:
            raise ValidationError("a secret is changed by rotating it")
        stored = self._settings(row := self._row(endpoint_id, owner))
        config = WebhookConfig.from_dict({**stored.config, **settings}).checked()
        check_target(config.guard, config.url, self._resolve)
        self._replace(row, replace(stored, config={**config.to_dict(), "secret": None}))
        return self.get(endpoint_id)

    def remove(self, endpoint_id: str, *, owner: str | None = None) -> None:
        """Removes a receiver, and what is known of its deliveries."""
        self._row(endpoint_id, owner)
        with self._writing() as connection:
            connection.execute(delete(deliveries).where(deliveries.c.endpoint == endpoint_id))
            connection.execute(delete(endpoints).where(endpoints.c.id == endpoint_id))

    def rotate(self, endpoint_id: str, *, secret: str | None = None, owner: str | None = None) -> Endpoint:
        """Replaces the secret, by a random one if none is given, which `new_secret` then has. The former one signs besides for 24 hours."""
        stored = self._settings(row := self._row(endpoint_id, owner))
        made = new_secret() if secret is None else None
        former = [(key, until or self._clock() + FORMER_SECRET_SECONDS) for key, until in stored.keys[:1]]
        keys = [(made or check_secret(secret), None), *former]
        self._replace(row, replace(stored, keys=keys))
        return replace(self.get(endpoint_id), new_secret=made)

    def disable(self, endpoint_id: str, *, reason: str = BY_REQUEST, owner: str | None = None) -> None:
        """Stops deliveries to a receiver. Its position stays, so nothing is lost where it is enabled again."""
        self._set_state(endpoint_id, owner, DISABLED, reason)

    def enable(self, endpoint_id: str, *, owner: str | None = None) -> None:
        """Goes on with deliveries from where they stopped."""
        self._set_state(endpoint_id, owner, ACTIVE, "")

    def replay(self, endpoint_id: str, *, since: str | int, owner: str | None = None) -> None:
        """Delivers all events after a position once more, with the same ids: it reads the journal, so what was purged is not in them."""
        position, row = self._reached(since), self._row(endpoint_id, owner)
        after = (deliveries.c.seq > position.seq) | ((deliveries.c.seq == position.seq) & (deliveries.c.idx > position.index))
        with self._writing() as connection:
            mine = (deliveries.c.endpoint == endpoint_id, after)
            connection.execute(delete(deliveries).where(*mine, deliveries.c.body.is_(None)))
            connection.execute(update(deliveries).where(*mine).values(status=NEW, tries=0, due=0.0, is_replay=1))
            values: dict[str, Any] = {
                "seq": position.seq,
                "idx": position.index,
                "chain": "",
                "matched": None,
                "replay_until": max(row.seq, row.replay_until),
            }
            connection.execute(_changing(endpoint_id, **values))

    def retry(self, endpoint_id: str, position: str | int, *, owner: str | None = None) -> None:
        """Tries a delivery again that failed, at once, with the whole schedule before it."""
        self._row(endpoint_id, owner)
        at = Position.of(position)
        mine = (deliveries.c.endpoint == endpoint_id, deliveries.c.seq == at.seq, deliveries.c.idx == at.index)
        with self._writing() as connection:
            again = update(deliveries).where(*mine).values(status=WebhookDeliveryStatus.PENDING.value, tries=0, due=0.0)
            if not connection.execute(again).rowcount:
                raise MemoryNotFoundError(f"there is no delivery of {at} to this endpoint")
            connection.execute(_changing(endpoint_id))

    def acknowledge(self, endpoint_id: str, *, owner: str | None = None) -> int:
        """Drops the deliveries that failed for good, and returns how many. Otherwise they are kept for 30 days."""
        self._row(endpoint_id, owner)
        failed = (deliveries.c.endpoint == endpoint_id, deliveries.c.status == WebhookDeliveryStatus.FAILED.value)
        with self._writing() as connection:
            return connection.execute(delete(deliveries).where(*failed)).rowcount

    def deliveries(
        self, endpoint_id: str, *, status: str | None = None, limit: int = 50, owner: str | None = None
    ) -> list[Delivery]:
        """Returns how the newest deliveries stand, the newest first: at most `limit`, of one status if one is given."""
        shown = self.get(endpoint_id, owner=owner)
        wanted = select(deliveries).where(deliveries.c.endpoint == endpoint_id)
        if status is not None:
            stored = (status, NEW) if status == WebhookDeliveryStatus.PENDING else (status,)
            wanted = wanted.where(deliveries.c.status.in_(stored))
        wanted = wanted.order_by(deliveries.c.seq.desc(), deliveries.c.idx.desc()).limit(min(limit, MOST_LISTED))
        with self._reading() as connection:
            return [_delivery(row, shown.config.url) for row in connection.execute(wanted)]

    def counts(self, endpoint_id: str) -> dict[str, int]:
        """Returns the number of deliveries by status. Of those delivered only the newest are kept."""
        wanted = (
            select(deliveries.c.status, func.count().label("found"))
            .where(deliveries.c.endpoint == endpoint_id)
            .group_by(deliveries.c.status)
        )
        with self._reading() as connection:
            found = Counter[str]()
            for row in connection.execute(wanted):
                found["pending" if row.status == NEW else row.status] += row.found
        return dict(found)

    def changed(self) -> dict[str, int]:
        """Returns the version of each receiver, which any change of it raises."""
        with self._reading() as connection:
            wanted = select(endpoints.c.id, endpoints.c.version).where(*_of(self._alma))
            return {row.id: row.version for row in connection.execute(wanted)}

    def _set_state(self, endpoint_id: str, owner: str | None, state: str, reason: str) -> None:
        self._row(endpoint_id, owner)
        cleared = {"failures": 0, "failing_since": 0.0, "probes": 0, "probe_at": 0.0}
        with self._writing() as connection:
            connection.execute(_changing(endpoint_id, state=state, reason=reason[:200], **cleared))

    def _replace(self, row: Row[Any], settings: "_Settings") -> None:
        """Stores settings in place of those that were read. `ConflictError` if the endpoint was changed meanwhile."""
        changing = _changing(row.id, **self._sealed(row.id, settings)).where(endpoints.c.version == row.version)
        with self._writing() as connection:
            if not connection.execute(changing).rowcount:
                raise ConflictError(f"the endpoint {row.id} was changed meanwhile; look at it, and try again")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self.engine.execution_options(**DURABLE).begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self.engine.execution_options(**READS).begin() as connection:
            yield connection

    def _mine(self) -> Any:
        return select(endpoints).where(*_of(self._alma))

    def _row(self, endpoint_id: str, owner: str | None) -> Row[Any]:
        with self._reading() as connection:
            row = connection.execute(self._mine().where(endpoints.c.id == endpoint_id)).first()
        if row is None or (owner is not None and row.owner != owner):
            raise MemoryNotFoundError(f"there is no endpoint {quoted(endpoint_id)}")
        return row

    def _reached(self, since: str | int) -> Position:
        """Returns a position. `ValidationError` for one behind the end of the journal: what comes before it would never be sent."""
        position, head = Position.of(since), self._head()
        if position.seq > head:
            raise ValidationError(f"the journal of this project ends with record {head}, before {quoted(since)}")
        return position

    def _head(self) -> int:
        return self._alma.storage.project(self.project).head()

    def _now_micros(self) -> int:
        return int(self._clock() * MICROSECONDS)

    @property
    def _seal(self) -> Seal:
        seal: Seal = getattr(self._alma.storage, "seal", None) or OpenSeal()
        return seal

    def _sealed(self, endpoint_id: str, settings: "_Settings") -> dict[str, Any]:
        seal = self._seal
        plain = json.dumps(asdict(settings)).encode()
        return {"settings": seal.seal(plain, place=PLACE, row=(self.project, endpoint_id)), "is_sealed": int(seal.is_secret)}

    def _settings(self, row: Row[Any]) -> "_Settings":
        """Returns the settings of an endpoint. Those that were stored before the store was encrypted are sealed now."""
        seal: Seal = self._seal if row.is_sealed else OpenSeal()
        try:
            found = json.loads(seal.open(row.settings, place=PLACE, row=(self.project, row.id)))
        except (AlmaError, ValueError) as error:
            raise CorruptStoreError(
                f"the settings of the endpoint {row.id} were stored under another key; remove the endpoint and add it again"
            ) from error
        settings = _Settings(found["config"], found["access"], [tuple(each) for each in found["keys"]])
        if self._seal.is_secret and not row.is_sealed:
            self._replace(row, settings)
            empty_log(self.engine)
        return settings

    def _endpoint(self, row: Row[Any]) -> Endpoint:
        settings = self._settings(row)
        access = settings.access
        return Endpoint(
            id=row.id,
            project=row.project,
            owner=row.owner,
            config=WebhookConfig.from_dict(settings.config),
            access=Access(**{**access, "projects": tuple(access["projects"]), "rights": frozenset(access["rights"])}),
            state=row.state,
            reason=row.reason,
            created=from_micros(row.created),
            position=Position(row.seq, row.idx),
            version=row.version,
            failures=row.failures,
            failing_since=row.failing_since,
            probes=row.probes,
            probe_at=row.probe_at,
            keys=tuple(key for key, until in settings.keys if until is None or until > self._clock()),
        )


@dataclass(frozen=True, slots=True)
class _Settings:
    """The part of an endpoint that is sealed in an encrypted store: URL and headers may hold secrets, too."""

    config: dict[str, Any]
    access: dict[str, Any]
    keys: Sequence[Any]


def _of(alma: ALMA) -> tuple[Any, Any]:
    return endpoints.c.project == alma.project_id, endpoints.c.store == alma.storage.id


def _changing(endpoint_id: str, **values: Any) -> Any:
    return update(endpoints).where(endpoints.c.id == endpoint_id).values(version=endpoints.c.version + 1, **values)


def _plain_access(access: Access) -> dict[str, Any]:
    return {**asdict(access), "projects": list(access.projects), "rights": sorted(access.rights)}


def _delivery(row: Row[Any], url: str) -> Delivery:
    is_waiting = row.status in WAITING
    return Delivery(
        url=url,
        event_id=row.event_id,
        event_type=row.event_type,
        position=str(Position(row.seq, row.idx)),
        status=WebhookDeliveryStatus.PENDING if row.status == NEW else WebhookDeliveryStatus(row.status),
        attempts=row.tries,
        last_error=row.error or None,
        status_code=row.http_status or None,
        duration_ms=row.ms if row.tries else None,
        last_attempt=from_micros(int(row.at * MICROSECONDS)) if row.at else None,
        next_attempt=from_micros(int(row.due * MICROSECONDS)) if is_waiting and row.due else None,
    )
