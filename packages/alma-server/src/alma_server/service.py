"""Parts of one server that its requests share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alma_access import TokenFile, Tokens
from alma_server.limits import Limits
from alma_server.metrics import Metrics
from alma_server.projects import Projects
from alma_server.sessions import Sessions
from alma_server.settings import ServerSettings
from alma_server.stopping import Stopping
from alma_server.work import Work

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from alma import ALMA
    from alma_server.answers import Answers
    from alma_server.stream import Streams


@dataclass(slots=True)
class Service:
    """Settings, tokens, open projects, threads, limits and figures of a server."""

    settings: ServerSettings
    tokens: Tokens
    projects: Projects
    work: Work
    metrics: Metrics
    limits: Limits | None
    check_ready: Callable[[], object]
    sessions: Sessions | None
    """Sessions of the page; `None` where the tokens are given by the environment."""
    stopping: Stopping = field(default_factory=Stopping)
    streams: "Streams" = field(init=False)
    _answers: "dict[Engine, Answers]" = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        open_project: "Callable[[str], ALMA]",
        tokens: Tokens,
        settings: ServerSettings,
        check_ready: Callable[[], object],
    ) -> "Service":
        """Returns a service over a function that opens projects."""
        metrics = Metrics()
        share = max(1, settings.workers)
        return cls(
            settings,
            tokens,
            Projects(open_project, most=settings.open_projects),
            Work(readers=settings.readers, writers=settings.writers, waiting=settings.waiting, metrics=metrics),
            metrics,
            Limits(rate=settings.rate / share, burst=settings.burst / share) if settings.rate else None,
            check_ready,
            Sessions(tokens) if isinstance(tokens, TokenFile) else None,
        )

    def answers(self, alma: "ALMA") -> "Answers":
        """Returns the answers to repeated requests beside a store. The first time loads SQLAlchemy, which the start does without."""
        from alma_events.service_db import service_engine
        from alma_server.answers import Answers

        engine = service_engine(alma)
        found = self._answers.get(engine)
        return found or self._answers.setdefault(engine, Answers(engine))
