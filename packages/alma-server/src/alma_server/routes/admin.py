"""Routes over the tokens of a server. A token makes none that can do more than itself, and sees none either."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from alma.errors import ConfigurationError, ConflictError, MemoryNotFoundError, ValidationError
from alma.types.identity import UtcDatetime, from_micros, to_micros
from alma_access import ANY, Access, Token, TokenFile
from alma_server.asking import Asked, AskedDep
from alma_server.problems import ProblemError
from alma_server.routes.answers import Answer
from alma_server.routes.bodies import Body, Name
from alma_server.sessions import PREFIX

router = APIRouter(tags=["tokens"])


class NewToken(Body):
    """Token to make. The projects and the rights are those of the token that asks, where they are left out."""

    name: Name
    agent: Name = ANY
    user_id: Annotated[str, Field(max_length=200, description="A user, * for any, or empty for none.")] = ANY
    projects: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None
    rights: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None
    source: Name = "agent"
    expires: datetime | None = None


class ShownToken(Answer):
    """Token, without its secret."""

    name: str
    agent: str
    user_id: str
    projects: list[str]
    rights: list[str]
    source: str
    expires: UtcDatetime | None
    last_used: UtcDatetime | None


class MadeToken(Answer):
    """Token that was made. Its secret is shown only now."""

    secret: str
    token: ShownToken


class Tokens(Answer):
    """Tokens by name."""

    tokens: list[ShownToken]


@router.get("/tokens", operation_id="list_tokens")
async def list_tokens(asked: AskedDep) -> Tokens:
    """Returns the tokens that can do no more than this one, without their secrets."""
    asked.require("admin")
    found = await asked.service.work.reads.run(_file(asked).tokens)
    return Tokens(tokens=[_shown(token) for _, token in sorted(found.items()) if asked.access.covers(token.access)])


@router.post("/tokens", operation_id="create_token", status_code=201)
async def create_token(body: NewToken, asked: AskedDep) -> MadeToken:
    """Makes a token that can do no more than this one. Its secret is shown once."""
    asked.require("admin")
    file, access = _file(asked), _access(asked, body)
    expires = _end(asked, body)
    return await asked.service.work.writes.run(lambda: _make(file, body.name, access, expires))


@router.delete("/tokens/{name:path}", operation_id="revoke_token", status_code=204)
async def revoke_token(name: str, asked: AskedDep) -> None:
    """Revokes a token. It is refused from the next request on."""
    asked.require("admin")
    file = _file(asked)
    await asked.service.work.writes.run(lambda: _revoke(file, asked.access, name))


def _file(asked: Asked) -> TokenFile:
    tokens = asked.service.tokens
    if not isinstance(tokens, TokenFile):
        raise ProblemError(501, "no-token-file", "the tokens of this server are given by its environment")
    return tokens


def _access(asked: Asked, body: NewToken) -> Access:
    """Returns the access of a new token. `ScopeViolationError` if it could do more than the token that asks."""
    own = asked.access
    try:
        wanted = Access(
            agent=body.agent,
            user_id=body.user_id,
            projects=own.projects if body.projects is None else tuple(body.projects),
            rights=own.rights if body.rights is None else frozenset(body.rights),
            source=body.source,
        )
    except ConfigurationError as error:
        raise ValidationError(str(error)) from error
    if not own.covers(wanted):
        raise ProblemError(403, "scope-violation", "a token makes no token that can do more than itself")
    return wanted


def _end(asked: Asked, body: NewToken) -> int | None:
    """Returns when a new token expires. `ProblemError` if that is after the token that asks."""
    try:
        own, wanted = asked.token.expires, None if body.expires is None else to_micros(body.expires)
    except ValueError as error:
        raise ValidationError(f"expires: {error}") from error
    if own is None or wanted is None:
        return own if wanted is None else wanted
    if wanted > own:
        raise ProblemError(403, "scope-violation", "a token makes no token that outlives it")
    return wanted


def _make(file: TokenFile, name: str, access: Access, expires: int | None) -> MadeToken:
    if name.startswith(PREFIX):
        raise ValidationError(f"names that begin with {PREFIX} are those of sessions of the page")
    if name in file.tokens():
        raise ConflictError("there is a token of this name already; revoke it, or choose another name")
    try:
        secret = file.add(name, access, expires=expires)
    except ConfigurationError as error:
        raise ValidationError(str(error)) from error
    return MadeToken(secret=secret, token=_shown(file.tokens()[name]))


def _revoke(file: TokenFile, access: Access, name: str) -> None:
    token = file.tokens().get(name)
    if token is None or not access.covers(token.access):
        raise MemoryNotFoundError("there is no such token that this one can see")
    file.revoke(name)


def _shown(token: Token) -> ShownToken:
    who = token.access
    return ShownToken(
        name=token.name,
        agent=who.agent,
        user_id=who.user_id,
        projects=list(who.projects),
        rights=sorted(who.rights),
        source=who.source,
        expires=None if token.expires is None else from_micros(token.expires),
        last_used=None if token.last_used is None else from_micros(token.last_used),
    )
