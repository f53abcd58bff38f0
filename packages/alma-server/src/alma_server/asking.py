"""Who asks, for which project, and the way of a route to the library: `AskedDep`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from alma_access import Access, Token, Tokens
from alma_server.addresses import address_of, read_slashes
from alma_server.limits import READ, WRITE
from alma_server.problems import ProblemError
from alma_server.service import Service

if TYPE_CHECKING:
    from alma import ALMA

T = TypeVar("T")
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_BEARER = HTTPBearer(auto_error=False, description="A token of `alma token create`.")


@dataclass(slots=True)
class Asked:
    """A request with a valid token. `project` is `None` for a route of no project."""

    access: Access
    request_id: str
    project: str | None
    token: Token
    service: Service
    request: Request

    @property
    def address(self) -> str:
        """Address of this request as its client knows it, encoded, without the query."""
        return address_of(self.request.scope)

    async def read(self, call: "Callable[[ALMA], T]") -> T:
        """Returns what a call that writes nothing returns, given the project's memory. 503 if too many wait."""
        return await self.service.work.reads.run(lambda: call(self._alma()), gone=self.request.receive)

    async def write(self, call: "Callable[[ALMA], T]") -> T:
        """As `read`, for a call that writes. A call that began ends, also when the client is gone."""
        self.charge(WRITE - READ)
        return await self.service.work.writes.run(lambda: call(self._alma()))

    async def aside(self, call: "Callable[[ALMA], T]") -> T:
        """Returns what a short call for the server itself returns, however many calls wait and whether or not the client is there."""
        return await asyncio.to_thread(lambda: call(self._alma()))

    def agent(self, named: str | None) -> str:
        """Returns the agent that this request acts as. `ScopeViolationError` for another than the token's, and for none."""
        return self.access.as_agent(named)

    def any_agent(self, named: str | None) -> str | None:
        """As `agent`, but `None` for all agents where the token is bound to none and the request names none."""
        return self.access.as_any_agent(named)

    def user(self, named: str | None) -> str | None:
        """Returns the user that this request is for, if any. `ScopeViolationError` for another than the token's."""
        return self.access.as_user(named)

    def is_still_valid(self) -> bool:
        """Returns False once the token of this request was revoked or has expired."""
        secret = self.request.headers.get("authorization", "").partition(" ")[2].strip()
        found = self.service.tokens.find(secret)
        return found is not None and found.access == self.access

    def require(self, right: str) -> None:
        """Raises `ScopeViolationError` if the token has not this right."""
        self.access.require(right)

    def charge(self, weight: float) -> None:
        """Takes a weight from what the token may ask, beyond the one of every request. `ProblemError` 429 if there is too little."""
        if self.service.limits is not None:
            left = self.service.limits.take(self.token.id, weight)
            self.request.scope["alma.limits"] = [(b"ratelimit", left), (b"ratelimit-policy", self.service.limits.policy)]

    def respond(self, name: str, value: str) -> None:
        """Adds a header to the answer, whatever the route returns."""
        self.request.scope.setdefault("alma.headers", []).append((name.lower().encode("latin-1"), value.encode("latin-1")))

    def _alma(self) -> "ALMA":
        assert self.project is not None, "a route of no project calls no memory"
        return self.service.projects.find(self.project)


async def find_asked(request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]) -> Asked:
    """Returns who asks. 401 without a valid token; `ScopeViolationError` for a project that the token is not bound to."""
    read_slashes(request)
    service: Service = request.app.state.service
    token = _find_token(service.tokens, bearer)
    request.scope["alma.token"] = token.name
    project = _project(request, token.access, service.settings.project)
    asked = Asked(token.access, request.scope.get("alma.request_id", ""), project, token, service, request)
    asked.charge(READ)
    return asked


def _find_token(tokens: Tokens, bearer: HTTPAuthorizationCredentials | None) -> Token:
    if bearer is None:
        raise ProblemError(401, "unauthorized", "a token is needed: Authorization: Bearer TOKEN", headers=_CHALLENGE)
    token = tokens.find(bearer.credentials)
    if token is None:
        raise ProblemError(401, "unauthorized", tokens.refusal(bearer.credentials), headers=_CHALLENGE)
    return token


def _project(request: Request, access: Access, default: str | None) -> str | None:
    if "project" not in request.path_params:
        return None
    is_bare = request.scope.get("alma.is_bare", False)
    return access.as_project(None if is_bare else request.path_params["project"], default=default)


AskedDep = Annotated[Asked, Depends(find_asked)]
