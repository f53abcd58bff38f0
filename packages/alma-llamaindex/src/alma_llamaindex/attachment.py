"""An open ALMA inside of values that LlamaIndex copies and serialises."""

from collections.abc import Callable, Sized
from typing import Any

from llama_index.core.utils import get_tokenizer

from alma import ALMA, ConfigurationError
from alma_llamaindex.learner import installed
from alma_llamaindex.runs import Evaluator

Tokenizer = Callable[[str], Sized]
"""What LlamaIndex calls `tokenizer_fn`."""


class Attachment:
    """What cannot be written down: an open store and functions. Copies share it.

    What was unpickled has none of it; it takes the store of the one installed learner for its project, judges by that learner's evaluator, and
    counts tokens as LlamaIndex does.
    """

    def __init__(
        self,
        project: str = "",
        alma: ALMA | None = None,
        evaluator: Evaluator | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self._project = project
        self._alma = alma
        self._tokenizer_fn = tokenizer_fn
        self.evaluator = evaluator

    @property
    def alma(self) -> ALMA:
        """The open ALMA. `ConfigurationError` if it was lost on the way."""
        if self._alma is None:
            self._alma = self._found()
        return self._alma

    def count_tokens(self, text: str) -> int:
        """How long a text is for the memory that holds the block."""
        return len((self._tokenizer_fn or get_tokenizer())(text))

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
