"""The project that a session manager or a progress tracker works on: one that is open, or one by its name."""

from typing import Self

from alma import ALMA
from alma.errors import ConfigurationError
from alma_integration import checked_alma


class OfProject:
    """Base of what works on one project. A bare name opens that project in `.alma`; close it then, or use `with`."""

    def __init__(self, project: str | None = None, *, alma: ALMA | None = None) -> None:
        if (project is None) == (alma is None):
            raise ConfigurationError("give the name of a project, which opens .alma, or alma=, an open ALMA")
        self._is_own = alma is None
        self.alma = ALMA.open(".alma", project_id=project) if project is not None else checked_alma(alma)

    def close(self) -> None:
        """Closes the store if this object opened it."""
        if self._is_own:
            self.alma.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
