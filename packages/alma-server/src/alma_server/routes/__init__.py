"""Routes of the API, a module for each subject."""

from fastapi import APIRouter

from alma_server.routes import ask, episodes, memories, record, upkeep, workflows


def all_routers() -> list[APIRouter]:
    """Returns the routers that are mounted under `/v1`."""
    return [module.router for module in (ask, record, memories, episodes, upkeep, workflows)]
