"""The memory that an ingestion writes to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma import ALMA
from alma.errors import ValidationError
from alma_integration import checked_alma

Progress = Callable[[int, int], None]
"""Receives how much is done, and the total."""


@contextmanager
def opened(alma: ALMA | None, project_id: str | None) -> Iterator[ALMA]:
    """Yields the memory that is given, at a project, else that of `.alma`, which is closed afterwards."""
    if alma is not None:
        yield checked_alma(alma).for_project(project_id) if project_id is not None else checked_alma(alma)
        return
    if project_id is None:
        raise ValidationError("give alma=, an open ALMA, or project_id=, the name of a project in .alma")
    with ALMA.open(".alma", project_id=project_id) as own:
        yield own
