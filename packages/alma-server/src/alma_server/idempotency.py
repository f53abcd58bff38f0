"""Writes that happen once, however often they are sent: `OnceDep`.

Every route whose write counts anew when it is sent again takes it:

    @router.post("/learn", status_code=201, operation_id="learn")
    async def learn(asked: AskedDep, once: OnceDep, body: LearnBody) -> OutcomeAnswer:
        asked.require("write")
        outcome = await once.write(
            lambda alma: alma.learn(..., idempotency_key=once.core_key),
            remember=lambda outcome: [outcome.id],
            recall=lambda alma, ids: alma.get(ids[0]),
            is_counted_once=True,
        )
        return OutcomeAnswer.of(outcome)

With a header `Idempotency-Key`, `remember` names the ids (and numbers) that the answer can be rendered from, which are kept for a day, never
words; a repeated request gets what `recall` reads by them, and the header `Idempotent-Replayed: true`. `recall` may be left out where
`remember` returns the whole result, as counts are. Without the header, `write` is `asked.write`. `once.core_key` is what the core takes as its
`idempotency_key`: `None` without the header. A call that passes it says so by `is_counted_once`: after a crash it is carried out again at once.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Header, Request

from alma.errors import MemoryNotFoundError
from alma_server.asking import Asked, AskedDep
from alma_server.problems import ProblemError
from alma_server.sent import RUNNING_SECONDS, Sent

if TYPE_CHECKING:
    from alma import ALMA
    from alma_server.answers import Answers

T = TypeVar("T")
_LOG = logging.getLogger("alma")


@dataclass(frozen=True, slots=True)
class Once:
    """The way of a writing route to the library. `core_key` is what the core takes as its `idempotency_key`."""

    asked: Asked
    sent: Sent | None

    @property
    def core_key(self) -> str | None:
        """Key of this request for the core, which counts it once in a project even if the answers were lost. `None` without the header."""
        return None if self.sent is None else _digest("core", self.sent.token, self.sent.route, self.sent.key)

    async def write(
        self,
        call: "Callable[[ALMA], T]",
        *,
        remember: Callable[[T], Any],
        recall: "Callable[[ALMA, Any], T] | None" = None,
        is_counted_once: bool = False,
    ) -> T:
        """Returns what a call that writes returned, now or when this request was sent first.

        410 if a memory that the first answer names was purged since. A call that raises may be sent again. `is_counted_once` states that the
        core knows the call by `core_key`, so that carrying it out again stores nothing twice.
        """
        sent = self.sent
        if sent is None:
            return await self.asked.write(call)
        answers = self.asked.service.answers
        beating = asyncio.create_task(_beat(self.asked, answers, sent))
        try:
            result, is_replayed = await self.asked.write(
                lambda alma: _write_once(answers(alma), sent, alma, call, remember, recall, is_counted_once)
            )
        finally:
            beating.cancel()
        if is_replayed:
            self.asked.respond("Idempotent-Replayed", "true")
        return result


async def _beat(asked: Asked, answers: "Callable[[ALMA], Answers]", sent: Sent) -> None:
    while True:
        await asyncio.sleep(RUNNING_SECONDS / 3)
        try:
            await asked.aside(lambda alma: answers(alma).keep_running(sent))
        except Exception:  # noqa: BLE001 - the next one may succeed before the request counts as ended
            _LOG.exception("a running request could not be marked as running")


def _write_once(
    answers: "Answers",
    sent: Sent,
    alma: "ALMA",
    call: "Callable[[ALMA], T]",
    remember: Callable[[T], Any],
    recall: "Callable[[ALMA, Any], T] | None",
    is_counted_once: bool,
) -> tuple[T, bool]:
    """Returns the result of a call, and whether it is that of an earlier request."""
    refs = answers.begin(sent, is_counted_once=is_counted_once)
    if refs is not None:
        return _recalled(alma, refs, recall), True
    try:
        result = call(alma)
    except BaseException:  # nothing was stored
        answers.forget(sent)
        raise
    try:
        answers.finish(sent, remember(result))
    except BaseException:  # the write is stored
        if not is_counted_once:
            answers.lose(sent)
        raise
    return result, False


def _recalled(alma: "ALMA", refs: Any, recall: "Callable[[ALMA, Any], T] | None") -> T:
    try:
        return refs if recall is None else recall(alma, refs)
    except MemoryNotFoundError as error:
        raise ProblemError(410, "gone", "what the first answer named is there no longer") from error


async def find_once(
    request: Request,
    asked: AskedDep,
    key: Annotated[
        str | None,
        Header(alias="Idempotency-Key", min_length=1, max_length=255, description="Sent again, it is carried out once."),
    ] = None,
) -> Once:
    """Returns the way of this request to the library."""
    if key is None:
        return Once(asked, None)
    path: str = request.scope["path"]
    if asked.project is not None:  # an address without the project is the same
        path = path.split("/", 4)[-1]
    route = _digest(request.method, asked.project or "", path)
    body = _digest(request.scope.get("query_string", b"").decode("latin-1"), (await request.body()).hex())
    return Once(asked, Sent(token=_digest(asked.token.id), key=_digest(key), route=route, body_sha256=body))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


OnceDep = Annotated[Once, Depends(find_once)]
