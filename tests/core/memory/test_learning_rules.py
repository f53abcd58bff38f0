"""What an agent may learn: `can_learn` and `cannot_learn`, said outright or inferred from the task."""

from collections.abc import Callable

import pytest

from alma import ALMA, DomainKnowledge, Outcome, ScopeViolationError
from alma.testing import MockEmbedder
from facade import OpenStore, refused

RULES = {
    "helena": {"can_learn": ["testing_strategies", "selector patterns"], "cannot_learn": ["backend_logic"]},
    "victor": {"cannot_learn": ["frontend selectors"]},
}

Learn = Callable[[ALMA, str, str], object]

WAYS: dict[str, Learn] = {
    "learn": lambda alma, agent, category: alma.learn(agent, "t", "success", task_type=category),
    "learn_many": lambda alma, agent, category: alma.learn_many(
        [{"agent": agent, "task": "t", "outcome": "success", "task_type": category}]
    ),
    "add_domain_knowledge": lambda alma, agent, category: alma.add_domain_knowledge(agent, category, "f"),
    "add_many, an outcome": lambda alma, agent, category: alma.add_many(
        [Outcome(agent=agent, task_description="t", task_type=category)]
    ),
    "add_many, a fact": lambda alma, agent, category: alma.add_many([DomainKnowledge(agent=agent, domain=category, fact="f")]),
}
INFERRING: dict[str, Callable[[ALMA, str, str], Outcome]] = {
    "learn": lambda alma, agent, task: alma.learn(agent, task, "success"),
    "learn_many": lambda alma, agent, task: alma.learn_many([{"agent": agent, "task": task, "outcome": "success"}])[0],
    "add_many": lambda alma, agent, task: alma.get(  # type: ignore[return-value]
        alma.add_many([Outcome(agent=agent, task_description=task)])[0]
    ),
}


@pytest.fixture
def alma(open_store: OpenStore) -> ALMA:
    return open_store(agents=RULES)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("category", ["testing_strategies", "selector patterns", "Selector  Patterns", "Testing-Strategies"])
def test_what_an_agent_can_learn_is_stored(alma: ALMA, way: str, category: str) -> None:
    WAYS[way](alma, "helena", category)
    assert alma.get_stats("helena").total == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("category", ["backend_logic", "Backend Logic", "BACKEND-LOGIC"])
def test_what_an_agent_cannot_learn_is_refused_and_not_stored(alma: ALMA, way: str, category: str) -> None:
    with refused(alma, ScopeViolationError, "'helena' may not learn .*nothing was stored"):
        WAYS[way](alma, "helena", category)


@pytest.mark.parametrize("way", WAYS)
def test_a_category_outside_can_learn_is_refused_and_the_list_is_told(alma: ALMA, way: str) -> None:
    with refused(alma, ScopeViolationError, "testing_strategies, selector patterns"):
        WAYS[way](alma, "helena", "cooking")


@pytest.mark.parametrize("way", WAYS)
def test_without_can_learn_everything_but_cannot_learn_is_open(alma: ALMA, way: str) -> None:
    WAYS[way](alma, "victor", "cooking")
    with refused(alma, ScopeViolationError, "may not learn 'frontend selectors'"):
        WAYS[way](alma, "victor", "frontend selectors")


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_without_rules_has_no_limits(alma: ALMA, way: str) -> None:
    WAYS[way](alma, "newcomer", "backend_logic")
    assert alma.get_stats("newcomer").total == 1


@pytest.mark.parametrize("way", INFERRING)
def test_a_task_near_a_category_that_can_be_learned_gets_that_category(alma: ALMA, way: str) -> None:
    outcome = INFERRING[way](alma, "helena", "Compare the selector patterns of two pages")
    assert outcome.task_type == "selector patterns"
    assert outcome.metadata == {"task_type_inferred": True}


@pytest.mark.parametrize("way", INFERRING)
def test_a_task_near_a_category_that_cannot_be_learned_is_refused(alma: ALMA, way: str) -> None:
    with refused(
        alma, ScopeViolationError, "'helena' may not learn 'backend_logic' .*, the nearest of its categories to this task"
    ):
        INFERRING[way](alma, "helena", "Change the logic of the backend")


@pytest.mark.parametrize("way", INFERRING)
def test_a_task_near_no_category_is_stored_without_one(alma: ALMA, way: str) -> None:
    outcome = INFERRING[way](alma, "helena", "Buy tulips at the market")
    assert outcome.task_type is None
    assert outcome.metadata == {}


@pytest.mark.parametrize("way", INFERRING)
def test_no_category_is_inferred_for_an_agent_without_rules(alma: ALMA, way: str) -> None:
    assert INFERRING[way](alma, "newcomer", "Change the logic of the backend").task_type is None


def test_a_category_that_is_given_is_not_inferred_over(alma: ALMA) -> None:
    outcome = alma.learn("helena", "Change the logic of the backend", "success", task_type="testing_strategies")
    assert outcome.task_type == "testing_strategies"
    assert outcome.metadata == {}


@pytest.mark.parametrize("way", ["learn_many", "add_many"])
def test_one_forbidden_item_among_many_stores_none_and_is_named(alma: ALMA, way: str) -> None:
    with refused(alma, ScopeViolationError, "^item 2: 'helena' may not learn"):
        if way == "learn_many":
            alma.learn_many(
                {"agent": "helena", "task": f"t {n}", "outcome": True, "task_type": category}
                for n, category in enumerate(["testing_strategies", "testing_strategies", "backend_logic"])
            )
        else:
            alma.add_many(
                DomainKnowledge(agent="helena", domain=category, fact=f"f {n}")
                for n, category in enumerate(["testing_strategies", "testing_strategies", "backend_logic"])
            )


def test_the_meaning_of_a_task_decides_where_its_words_do_not(open_store: OpenStore) -> None:
    rules = {"helena": {"can_learn": ["user interface testing"], "cannot_learn": ["database administration"]}}
    alma = open_store(embedding_provider="minilm", agents=rules)
    assert (
        alma.learn("helena", "Click through the web page and test its buttons", "success").task_type == "user interface testing"
    )
    with refused(alma, ScopeViolationError, "may not learn 'database administration'"):
        alma.learn("helena", "Administer the PostgreSQL servers of the shop", "success")


@pytest.mark.parametrize("way", ["learn_many", "add_many"])
def test_many_items_go_to_the_model_once_with_the_categories_that_they_are_held_to(open_store: OpenStore, way: str) -> None:
    embedder = MockEmbedder()
    alma = open_store(embedding_provider=embedder, agents=RULES)
    tasks = [f"Compare the selector patterns of page {number}" for number in range(200)]
    if way == "learn_many":
        alma.learn_many({"agent": "helena", "task": task, "outcome": True} for task in tasks)
    else:
        alma.add_many(Outcome(agent="helena", task_description=task) for task in tasks)
    assert len(embedder.calls) == 1
    assert alma.get_stats("helena").total == 200


def test_a_task_of_many_passages_goes_to_the_model_once(open_store: OpenStore) -> None:
    embedder = MockEmbedder()
    alma = open_store(embedding_provider=embedder, agents=RULES)
    outcome = alma.learn("helena", "Compare selector patterns. " * 40 + "Buy tulips at the market. " * 40, "success")
    assert outcome.task_type == "selector patterns"
    assert len(embedder.calls) == 1


@pytest.mark.parametrize("way", ["learn_many", "add_many"])
def test_one_item_near_a_forbidden_category_stores_none_and_is_named(alma: ALMA, way: str) -> None:
    tasks = ["Compare the selector patterns", "Buy tulips at the market", "Change the logic of the backend"]
    with refused(alma, ScopeViolationError, "^item 2: 'helena' may not learn 'backend_logic'"):
        if way == "learn_many":
            alma.learn_many({"agent": "helena", "task": task, "outcome": True} for task in tasks)
        else:
            alma.add_many(Outcome(agent="helena", task_description=task) for task in tasks)


def test_what_was_proven_stays_so_while_other_strategies_are_tried(alma: ALMA) -> None:
    seen = set()
    for number in range(40):
        alma.learn("dev", f"Deploy service {number}", True, "blue-green", task_type="deploying")
        alma.learn("dev", f"Deploy thing {number}", number % 4 == 0, "all at once", task_type="deploying")
        if number > 30:
            seen |= {rule.metadata["status"] for rule in alma.list_memories("heuristic")}

    assert seen == {"proven"}
