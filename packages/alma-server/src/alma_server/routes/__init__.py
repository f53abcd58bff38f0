"""Routes of the API, a module for each subject."""

from fastapi import APIRouter

from alma_server.routes import (
    admin,
    ask,
    episodes,
    graph,
    legacy,
    memories,
    overview,
    pairs,
    record,
    transfer,
    upkeep,
    webhooks,
    workflows,
)

__all__ = ["all_routers", "legacy"]


def all_routers() -> list[APIRouter]:
    """Returns the routers that are mounted under `/v1`."""
    of_projects = [
        module.router
        for module in (ask, record, memories, episodes, upkeep, overview, pairs, workflows, graph, webhooks, transfer)
    ]
    return [*of_projects, transfer.jobs_router, admin.router, overview.store_router]
