"""Stores for reports: one has content of every sort, with texts that attack their reader."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from alma import ALMA
from facade import ManualClock

ATTACKS = (
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "' onmouseover='document.title=1' x='",
    "</style></title></main><h1>owned</h1>",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "<!-- ]]> <a href='https://example.org/steal'>click</a>",
    "&lt;script&gt; &#60;b&#62;",
    "\u202egnorw\u2066 \u2028 \x07 \x1b[2J",
)


def filled(folder: Path) -> ALMA:
    """Every kind, two months, usage, feedback, episodes, rules; each text, name and label is an attack."""
    clock = ManualClock(datetime(2026, 7, 1, 9, 0, tzinfo=UTC))
    name = "<b>agent</b>"
    rules = {name: {"share_with": ["*"], "can_learn": ["<i>a</i>", "b"]}, "other": {"inherit_from": [name]}}
    alma = ALMA.open(folder, project_id="<u>shop</u>", embedding_provider="hash", clock=clock, agents=rules)
    for number, attack in enumerate(ATTACKS * 3):
        clock.now += timedelta(days=2)
        told = f"{attack} {number}"
        alma.learn(name, told, ("success", "failure", "partial")[number % 3], attack, task_type="b", error_message=attack)
        alma.add_heuristic("other", told, attack)
        alma.add_anti_pattern("other", told, attack, attack)
        alma.add_domain_knowledge("other", "<em>d</em>", told)
        alma.add_user_preference("<s>user</s>", "<q>c</q>", told)
    found = alma.retrieve(ATTACKS[0], "other")
    alma.record_usage(found.ids, found.ids[:2], agent="other")
    alma.record_feedback(found.ids[0], signal="thumbs_up", agent="other")
    alma.record_feedback(found.ids[1], signal="thumbs_down", agent="other")
    for attack in ATTACKS:
        with alma.episode(agent="other", task=attack) as episode:
            episode.step(attack, ok=False, error=attack)
            episode.observe("as [H1] says")
            episode.succeed(strategy=attack)
    return alma
