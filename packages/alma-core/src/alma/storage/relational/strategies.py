"""Texts by which strategies of outcomes are compared. Their vectors are stored although no passage has these texts."""

import json
from collections.abc import Collection, Iterator

from alma.storage.relational.logical import View
from alma.storage.relational.rows import UNREADABLE, text_hash
from alma.storage.relational.seal import Seal
from alma.storage.relational.session import Session
from alma.text import matched_text


def compared_texts(session: Session, seal: Seal) -> Iterator[tuple[int, str]]:
    """Yields the texts by which strategies are compared, each with its project."""
    for project, memory_id, body in session.all("outcome_bodies"):
        if strategy := _strategy_in(body, seal, (project, memory_id)):
            yield project, matched_text(strategy)


def compared_hashes(session: Session, seal: Seal) -> Iterator[tuple[int, bytes]]:
    """Yields the hashes of these texts, each with its project."""
    return ((project, text_hash(text)) for project, text in compared_texts(session, seal))


def owned_strategies(view: View, *, without: Collection[str] = ()) -> set[tuple[str, str]]:
    """Returns the strategies that outcomes of a project name, each with the owner of an outcome. `without` has ids of outcomes that do not count."""
    found = view.session.all("outcome_bodies_in", {"project": view.project})
    named = (
        (view.partition_key(partition)[1], _strategy_in(body, view.seal, (view.project, memory_id)))
        for memory_id, partition, body in found
        if memory_id not in without
    )
    return {(owner, strategy) for owner, strategy in named if strategy}


def _strategy_in(body: bytes, seal: Seal, row: tuple[int, str]) -> str:
    """Returns the strategy that an outcome names; an empty text if its body is damaged, which `verify` reports."""
    try:
        return str(json.loads(seal.open(body, place="memory.body", row=row)).get("strategy_used", ""))
    except UNREADABLE:
        return ""
