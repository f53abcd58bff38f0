"""Properties over random projects, agents, rules and texts: what others hold neither shows nor moves anything."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA, AntiPattern, DomainKnowledge, Heuristic, Outcome, UserPreference
from alma.types import Memory
from facade import START, ManualClock, NewPlace, Place

AGENTS = ("ann", "bob", "eve")
USERS = ("ann", "zoe")
WORDS = ("deploy", "service", "login", "form", "timeout", "retry", "p1", "p2", "almafillerword", "E-4711", "naïve", "数据")
KINDS = ("outcome", "heuristic", "anti_pattern", "domain_knowledge", "user_preference")
QUESTIONS = ("deploy the service", "login form timeout", "p1 p2 almafillerword", "E-4711 数据")

Rules = Mapping[str, Mapping[str, Sequence[str]]]
Spec = tuple[str, str, str, str, str]
"""Kind, agent, user, text, further text."""

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20).filter(str.strip)
texts = sentences | any_text
specs = st.tuples(st.sampled_from(KINDS), st.sampled_from(AGENTS), st.sampled_from(USERS), texts, texts)
names = st.lists(st.sampled_from([*AGENTS, "*"]), max_size=2)
rules = st.dictionaries(
    st.sampled_from(AGENTS), st.fixed_dictionaries({}, optional={"share_with": names, "inherit_from": names}), max_size=3
)
projects = st.sampled_from(["other", "shop2", "SHOP", "a shop", "'; DROP TABLE memory"])

Shown = list[tuple[str, float, int, str]]


def _memory(spec: Spec) -> Memory:
    kind, agent, user, text, more = spec
    match kind:
        case "outcome":
            return Outcome(agent=agent, task_description=text, strategy_used=more, timestamp=START)
        case "heuristic":
            return Heuristic(agent=agent, condition=text, strategy=more, last_validated=START)
        case "anti_pattern":
            return AntiPattern(agent=agent, pattern=text, why_bad=more, last_seen=START)
        case "domain_knowledge":
            return DomainKnowledge(agent=agent, domain="things", fact=f"{text} {more}", last_verified=START)
        case _:
            return UserPreference(user_id=user, category="style", preference=text, timestamp=START)


@dataclass
class World:
    alma: ALMA
    rules: Rules = field(default_factory=dict)

    def tell(self, specs: Sequence[Spec], *, project: str = "shop") -> None:
        self.alma.for_project(project).add_many([_memory(spec) for spec in specs])

    def shown(self, reader: str, user: str | None, top_k: int = 4) -> list[Shown]:
        slices = [self.alma.retrieve(question, reader, user_id=user, top_k=top_k) for question in QUESTIONS]
        return [[(item.memory.id, item.score, item.copies, item.tag) for item in found.recalled] for found in slices]

    def everything(self) -> list[list[Shown]]:
        return [self.shown(reader, user) for reader in (*AGENTS, "stranger") for user in (None, *USERS)]

    def may_see(self, reader: str, user: str | None, memory: Memory) -> bool:
        """The rule of reading, written down a second time."""
        if isinstance(memory, UserPreference):
            return memory.user_id == user
        declared = self.rules.get(memory.agent, {}).get("share_with")
        return (
            memory.agent == reader
            or (declared is not None and (reader in declared or "*" in declared))
            or (declared is None and memory.agent in self.rules.get(reader, {}).get("inherit_from", ()))
        )


@contextmanager
def _world(place: Place, of: Rules) -> Iterator[World]:
    with place.open(embedding_dim=32, agents=of, clock=ManualClock()) as alma:
        yield World(alma, of)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(rules=rules, mine=st.lists(specs, min_size=1, max_size=12), theirs=st.lists(specs, min_size=1, max_size=40), name=projects)
def test_memories_added_to_another_project_change_neither_ids_nor_order_nor_scores_of_mine(
    new_place: NewPlace, rules: Rules, mine: list[Spec], theirs: list[Spec], name: str
) -> None:
    with _world(new_place(), rules) as world:
        world.tell(mine)
        before = world.everything()
        world.tell(theirs, project=name)
        assert world.everything() == before


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(rules=rules, mine=st.lists(specs, min_size=5, max_size=30), few=st.lists(specs, min_size=4, max_size=8))
def test_a_thousand_memories_added_to_another_project_change_nothing_of_mine(
    new_place: NewPlace, rules: Rules, mine: list[Spec], few: list[Spec]
) -> None:
    many = [(*few[number % len(few)][:3], f"{few[number % len(few)][3]} {number}", "more") for number in range(1000)]
    with _world(new_place(), rules) as world:
        world.tell(mine)
        before = world.everything()
        world.tell(many, project="other")
        assert world.alma.for_project("other").get_stats().total == 1000
        assert world.everything() == before


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(rules=rules, mine=st.lists(specs, max_size=12), later=st.lists(specs, min_size=1, max_size=25))
def test_no_text_makes_a_memory_appear_that_the_rules_hide(
    new_place: NewPlace, rules: Rules, mine: list[Spec], later: list[Spec]
) -> None:
    with _world(new_place(), rules) as world:
        for told in (mine, later):
            world.tell(told)
            for reader in (*AGENTS, "stranger"):
                for user in (None, *USERS):
                    for question in (*QUESTIONS, told[0][3] if told else "deploy"):
                        seen = world.alma.retrieve(question, reader, user_id=user, top_k=50)
                        assert all(world.may_see(reader, user, memory) for memory in seen)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(mine=st.lists(specs, min_size=1, max_size=10), theirs=st.lists(specs, min_size=1, max_size=25))
def test_memories_of_an_agent_that_i_cannot_read_move_nothing(new_place: NewPlace, mine: list[Spec], theirs: list[Spec]) -> None:
    def seen(alma: ALMA) -> list[tuple[Shown, str]]:
        slices = [alma.retrieve(question, "ann", user_id="zoe", top_k=50) for question in QUESTIONS]
        return [
            ([(item.memory.id, item.score, item.copies, item.tag) for item in found.recalled], found.to_prompt())
            for found in slices
        ]

    with _world(new_place(), {}) as world:
        world.tell([(kind, "ann", "zoe", *text) for kind, _, _, *text in mine])
        before = seen(world.alma)
        world.tell([(kind, "eve", "ann", *text) for kind, _, _, *text in theirs])
        assert seen(world.alma) == before


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2500])
def test_an_exact_copy_of_my_memory_elsewhere_does_not_show(new_place: NewPlace, size: int) -> None:
    """Below and above the size from which a scope is sampled instead of searched whole."""
    spec: Spec = ("outcome", "ann", "zoe", "deploy the service", "slowly")
    with _world(new_place(), {}) as world:
        world.tell([spec, *(("outcome", "ann", "zoe", f"deploy thing {n}", "quickly") for n in range(size))])
        before = world.shown("ann", None)
        world.tell([spec] * 3, project="other")
        assert world.shown("ann", None) == before
        world.tell([("outcome", "eve", "zoe", *spec[3:])] * 3)
        assert world.shown("ann", None) == before
