"""An open ALMA inside values that LlamaIndex copies and serialises."""

from collections.abc import Callable, Collection, Mapping, Sized
from dataclasses import replace
from typing import Any

from alma import ALMA, ConfigurationError
from alma_integration import Bounded, Identity, Integration, Options, Run, check_identity
from alma_llamaindex.handler import LEARNERS
from alma_llamaindex.learner import ALMALearner

MOST_KEPT = 64
"""Limit on the sessions, and on the texts, whose shown notes are kept."""

Tokenizer = Callable[[str], Sized]
"""LlamaIndex's `tokenizer_fn`."""


class Attachment:
    """A store, an agent and options. Copies share it.

    Pickling keeps the names and numbers among the options, not the store and not functions. After unpickling it takes the store of the
    one project of that name for which a learner is installed, and that learner's functions; a warning names those that it lacks, `lost`.
    """

    def __init__(
        self, alma: ALMA | None, agent: Identity, options: Mapping[str, Any], project: str = "", lost: Collection[str] = ()
    ) -> None:
        check_identity(agent, "agent", is_optional=False)  # the owner of memories has no default
        self.agent = agent
        self.options = dict(options)
        self.tokenizer_fn: Tokenizer | None = None
        self.answered = Bounded[str, tuple[object, Run]](MOST_KEPT)
        """By session, the last question outside of runs, and the run that shows notes for it."""
        self.shown = Bounded[str, Run](MOST_KEPT)
        """The run that showed each text of notes."""
        self._alma = alma
        self._project = project if alma is None else alma.project_id
        self._lost = lost
        self._alone = None if alma is None else Integration(alma, agent=agent, options=Options(**options))
        self._with: tuple[ALMALearner, Integration] | None = None

    @property
    def alma(self) -> ALMA:
        """The open ALMA. `ConfigurationError` if it was lost by pickling."""
        if self._alma is None:
            known = {learner.alma for learner in LEARNERS.known() if learner.alma.project_id == self._project}
            if len(known) != 1:
                raise ConfigurationError(
                    f"this was unpickled without its ALMA, and {len(known)} learners are installed for project {self._project!r}; "
                    "install one first (instrument_alma), or give the run a new memory"
                )
            self._alma = known.pop()
        return self._alma

    @property
    def learner(self) -> ALMALearner | None:
        """The learner of this project that takes runs that begin now."""
        return LEARNERS.in_charge(self.alma)

    def integration(self, learner: ALMALearner | None) -> Integration:
        """Returns the integration with these options, in the background of a learner if there is one."""
        if learner is None:
            self._alone = self._alone or Integration(self.alma, agent=self.agent, options=Options(**self.options))
            return self._alone
        last = self._with
        if last is None or last[0] is not learner:
            options = replace(learner.options, **self.options)
            self._with = last = learner, learner.integration.adapted(agent=self.agent, options=options)
            if missing := [name for name in self._lost if getattr(options, name) == getattr(Options(), name)]:
                learner.integration.warn_once(
                    f"a memory was unpickled without its functions; its runs go without {', '.join(missing)}: "
                    "give these to instrument_alma before the run goes on"
                )
        return last[1]

    def __deepcopy__(self, memo: Any) -> "Attachment":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if callable(self.agent):
            raise ConfigurationError("a memory whose agent is a function cannot be pickled; name the agent")
        plain = {name: value for name, value in self.options.items() if not callable(value)}
        return Attachment, (None, self.agent, plain, self._project, sorted({*self._lost, *(self.options.keys() - plain)}))
