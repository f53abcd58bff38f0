"""Routes of the API, a module for each subject."""

from fastapi import APIRouter


def all_routers() -> list[APIRouter]:
    """Returns the routers that are mounted under `/v1`."""
    return []
