"""An agent that gets better: it tries one of three ways, remembers how that went, and asks before the next try."""

import random
import tempfile
from collections import Counter

from alma import ALMA
from alma.testing import FixedClock

AGENT, TASK = "deployer", "Deploy the payment service"
WAYS = {"rolling update": 0.2, "recreate all pods at once": 0.4, "blue-green deployment": 0.9}
"""How often each way really works. The agent does not know."""

TRIES, BLOCK, KEEPS_TRYING = 100, 20, 0.1


def choose(alma: ALMA, chance: random.Random) -> str:
    """Now and then anything at all, else what is expected to succeed most; what is known to fail is left alone."""
    if chance.random() < KEEPS_TRYING:
        return chance.choice(list(WAYS))
    allowed = [way for way in WAYS if alma.check(agent=AGENT, action=way).is_clear] or list(WAYS)
    expected = {way: alma.assess(way, context=TASK, agent=AGENT).confidence_score for way in allowed}
    return max(expected, key=expected.__getitem__)


def attempt(alma: ALMA, chance: random.Random) -> bool:
    """One deployment: choose, do, learn."""
    way = choose(alma, chance)
    worked = chance.random() < WAYS[way]
    alma.learn(
        agent=AGENT,
        task=TASK,
        outcome=worked,
        strategy_used=way,
        error_message=None if worked else f"health check failed after {chance.randint(20, 90)} s",
    )
    return worked


clock = FixedClock()
with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", clock=clock) as alma:
    chance = random.Random(7)
    blocks = Counter()
    for number in range(TRIES):
        blocks[number // BLOCK] += attempt(alma, chance)
        clock.advance(hours=6)  # the tries are days apart; equal ones in a rush would count as one piece of news

    for row in alma.strategies(task=TASK, agent=AGENT):
        around = f"{row.interval.lower:.0%} to {row.interval.upper:.0%}"
        print(f"{row.strategy:26} {row.verdict:14} {row.successes:3g} of {row.trials:3g}  ({around})")
    print(f"\nWhat goes into its prompt:\n{alma.retrieve(task=TASK, agent=AGENT, top_k=2).to_prompt(max_tokens=400)}")
    print(
        f"\nOf each {BLOCK} tries so many worked, and {BLOCK * sum(WAYS.values()) / len(WAYS):.0f} would by chance: {list(blocks.values())}"
    )

    assert blocks[TRIES // BLOCK - 1] > blocks[0], "it got better"
    assert [rule.strategy for rule in alma.retrieve(task=TASK, agent=AGENT).heuristics] == ["blue-green deployment"]
