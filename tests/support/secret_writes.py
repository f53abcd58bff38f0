"""Every way in that a text with a secret can take. The secret was made up."""

from alma import ALMA, CustomMemoryType
from alma.types.memories import DomainKnowledge, Draft, Passage

TOKEN = "ghp_q7Zk2VxT9mLw4RsB8nYc3HdJ6fGpa1B2c3D4"
TEXT = f"The deployment needed {TOKEN}"


def learned(alma: ALMA) -> None:
    alma.learn("dev", TEXT, "failure", TEXT, task_type=TEXT, error_message=TEXT, feedback=TEXT, metadata={"note": [TEXT]})


def learned_many(alma: ALMA) -> None:
    alma.learn_many([{"agent": "dev", "task": TEXT, "outcome": True, "strategy_used": TEXT}] * 3)


def stated(alma: ALMA) -> None:
    alma.add_domain_knowledge("dev", "deploying", TEXT, passages=[Passage(text=TEXT, keywords=TEXT, speaker=TEXT)])
    alma.add_anti_pattern("dev", TEXT, TEXT, TEXT)
    alma.add_heuristic("dev", TEXT, TEXT)
    alma.add_user_preference("ann", "deploying", TEXT)
    alma.add_many([Draft(memory=DomainKnowledge(agent="dev", domain="x", fact=TEXT), passages=(Passage(text=TEXT),))])


def of_a_kind(alma: ALMA) -> None:
    alma.register_memory_type(CustomMemoryType(name="note", fields={"title": str, "tags": list[str]}, embedding_fields=["title"]))
    alma.add("note", agent="dev", title=TEXT, tags=[TEXT], metadata={"github": {TOKEN: TOKEN}})


def episode(alma: ALMA) -> None:
    with alma.episode("dev", TEXT, task_type=TEXT) as episode:
        episode.step(TEXT, ok=False, error=TEXT, output=TEXT)
        episode.step(TEXT, ok=True, output=TEXT)
        episode.succeed(strategy=TEXT, feedback=TEXT)
    alma.settle(episode.id, "failure", TEXT)
    with alma.episode("dev", TEXT) as other:
        other.abandon(TEXT)


def conversation(alma: ALMA) -> None:
    alma.add_conversation(
        [{"role": "user", "content": TEXT}, {"role": "assistant", "content": f"I see. {TEXT}!"}], agent="dev", session_id="s1"
    )


OLD_WRITES = [learned, learned_many, stated, of_a_kind, episode, conversation]
