"""An open ALMA inside of values that LlamaIndex copies and serialises."""

from typing import Any

from alma import ALMA, ConfigurationError
from alma_llamaindex.learner import installed
from alma_llamaindex.runs import Evaluator


class Attachment:
    """What cannot be written down: an open store and a function. Copies share it.

    What was unpickled has neither; it takes the store of the one installed learner for its project, and judges by that learner's evaluator.
    """

    def __init__(self, project: str = "", alma: ALMA | None = None, evaluator: Evaluator | None = None) -> None:
        self._project = project
        self._alma = alma
        self.evaluator = evaluator

    @property
    def alma(self) -> ALMA:
        """The open ALMA. `ConfigurationError` if it was lost on the way."""
        if self._alma is None:
            self._alma = self._found()
        return self._alma

    def _found(self) -> ALMA:
        known = {learner.alma for learner in installed() if learner.alma.project_id == self._project}
        if len(known) != 1:
            raise ConfigurationError(
                f"this memory was unpickled without its ALMA, and {len(known)} learners are installed for project {self._project!r}; "
                "install one first (instrument_alma), or give the run a new memory"
            )
        return known.pop()

    def __deepcopy__(self, memo: Any) -> "Attachment":
        return self

    def __reduce__(self) -> tuple[type["Attachment"], tuple[str]]:
        return Attachment, (self._project,)
