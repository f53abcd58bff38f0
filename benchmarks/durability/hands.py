"""A hand: one thread of one process that makes calls, one after the other, and keeps a ledger of them."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from alma import ALMA, Episode
from alma.errors import AlmaError, EmbedderMismatchError, StorageError
from benchmarks.durability.intents import Intent, Made
from benchmarks.durability.ledgers import SUFFIX, Ledger
from benchmarks.durability.states import CROWD, State, States, apply
from benchmarks.durability.stores import SHARED, Opens

TYPES = ("deploys", "invoices")
STRATEGIES = ("restart the router twice", "paint the paperwork green", "call the lighthouse keeper", "boil seven lemons")
WORDS = """amber anchor apple arrow autumn badger bamboo barrel basket beacon birch bottle branch bridge bronze bucket button cactus camera candle
canyon carpet castle cedar cellar chapel cherry circus clover cobalt comet copper coral cotton cradle crater cricket crystal dagger desert
donkey dragon eagle ember engine fabric falcon feather fiddle forest fossil garden garlic ginger glacier granite hammer harbor harvest hazel
helmet hollow honey island ivory jacket jungle kettle ladder lagoon lantern lemon lizard magnet maple marble meadow mirror mountain nectar
needle oasis olive orchid otter oyster paddle pebble pepper pigeon pillow pirate planet pocket prairie pumpkin puzzle quartz rabbit raven
ribbon river rocket saddle salmon shadow shelter silver spider spruce stable summit temple thunder timber tunnel turtle velvet violin walnut
willow window winter wizard zebra""".split()  # noqa: SIM905 - a list of words reads best as words


class OutOfMemory(BaseException):
    """Ends the work of a hand."""


@dataclass(slots=True)
class Call:
    """What a call has to say when it has returned."""

    ids: dict[str, str] = field(default_factory=dict)
    wrote: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """An episode under way, and the open of the store that it was begun or resumed with."""

    episode: Episode
    through: ALMA


@dataclass(slots=True)
class Hand:
    """A writer. `name` is its agent. With `takes_any` every error of the tree is a refusal: somebody harms the store."""

    name: str
    opens: Opens
    ledger: Ledger
    chance: Random
    files: Path
    is_forked: bool = False
    takes_any: bool = False
    ends_without_memory: bool = False
    is_timeless: bool = False
    states: States = field(default_factory=dict)
    extras: list[ALMA] = field(default_factory=list)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    knows_kind: set[str] = field(default_factory=set)
    number: int = 0

    @property
    def solo(self) -> str:
        """The project in which this hand works alone."""
        return f"solo-{self.name}"

    def state(self, project: str, actor: str = "") -> State:
        """What this hand, or the crowd through it, has in a project."""
        return self.states.setdefault((project, CROWD if actor == CROWD else self.name), State())

    def store(self) -> ALMA:
        """One of the opens of the store."""
        return self.chance.choice([self.opens.main, self.opens.main, *self.extras])

    def alma(self, project: str) -> ALMA:
        """A project, in one of the opens of the store."""
        return self.opens.view(self.store(), project)

    def project(self) -> str:
        """The shared project or the own one."""
        return self.chance.choice((SHARED, self.solo))

    def token(self) -> str:
        """A word that is used once."""
        self.number += 1
        return f"zz{self.name}n{self.number}q"

    def text(self, token: str, words: int = 7) -> str:
        """A text that holds the word."""
        chosen = self.chance.choices(WORDS, k=words)
        chosen.insert(self.chance.randrange(words), token)
        return " ".join(chosen)

    def made(self, kind: str, *, words: int = 7, **about: object) -> Made:
        """A memory to be made, with a text of its own."""
        token = self.token()
        return Made(token, kind, str(about.pop("owner", self.name)), self.text(token, words), **about)  # type: ignore[arg-type] # by name

    @contextmanager
    def calling(self, intent: Intent, *refusals: type[AlmaError]) -> Iterator[Call]:
        """Notes a call before it is made and after. Errors that it may raise are noted as refusals, others as failures; none leaves the block."""
        self.ledger.intend(intent)
        call, main = Call(), self.opens.main
        try:
            yield call
        except EmbedderMismatchError as error:
            self.ledger.raised("refused", _told(error))
            self._renew(main)
        except refusals as error:
            self.ledger.raised("refused", _told(error))
        except StorageError as error:
            was_renewed = self.opens.renewals > 0 and "was closed" in str(error)
            may_be = self.takes_any or was_renewed or (self.is_forked and "forked" in str(error))
            self.ledger.raised("refused" if may_be else "failed", _told(error))
        except MemoryError as error:
            if self.ends_without_memory:  # the call may have landed: nothing is said of it
                raise OutOfMemory from error
            self.ledger.raised("failed", _told(error))
        except Exception as error:  # noqa: BLE001 - an error outside the tree is what is looked for
            if self.takes_any and isinstance(error, AlmaError):
                self.ledger.raised("refused", _told(error))
                return
            self.ledger.raised("failed", f"{_told(error)}\n{''.join(traceback.format_exception(error)[-6:])}")
        else:
            self.ledger.acknowledge(call.ids, wrote=call.wrote)
            apply(self.states, intent, call.ids, hand=self.name)

    def mark(self, project: str) -> None:
        """Notes the newest record of a project: an undo may go back to it."""
        try:
            seq = self.alma(project).get_stats().journal_records
        except AlmaError:
            return
        self.state(project).mark(seq)
        self.ledger.mark(project, seq)

    def open_another(self) -> None:
        """Opens the store once more in this process."""
        with self.calling(Intent("second open")):
            self.extras.append(self.opens.another(self.chance))

    def close_one(self) -> None:
        """Closes one of the further opens. What was begun through it is left to whoever opens the store next."""
        if self.extras:
            alma = self.extras.pop(self.chance.randrange(len(self.extras)))
            self.attempts = {key: each for key, each in self.attempts.items() if each.through is not alma}
            with self.calling(Intent("close")):
                alma.close()

    def _renew(self, main: ALMA) -> None:
        """Leaves all opens behind: they are of an embedder that the store no longer has."""
        self.attempts.clear()
        with self.calling(Intent("reopen")):
            while self.extras:
                self.extras.pop().close()
            self.opens.renew(main)


def new_hand(name: str, opens: Opens, folder: Path, seed: str, *, is_forked: bool = False) -> Hand:
    """A hand with an empty ledger. The same seed chooses the same calls, as far as their answers are the same."""
    ledger = Ledger(folder / f"{name}{SUFFIX}")
    return Hand(name, opens, ledger, Random(f"{seed}/{name}"), folder, is_forked)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:600]
