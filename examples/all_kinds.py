"""Facts, warnings and a user's wishes beside what was learned, all in one prompt."""

import tempfile

from alma import ALMA

with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop") as alma:
    alma.learn(agent="dev", task="Write the login test", outcome="success", strategy_used="Wait for the button to be enabled")
    alma.add_domain_knowledge(
        agent="dev",
        domain="authentication",
        fact="The login page asks for a captcha after three wrong passwords",
        source="user_stated",
    )
    alma.add_anti_pattern(
        agent="dev",
        pattern="Using sleep() to wait for the login page",
        why_bad="Makes the tests flaky and slow",
        better_alternative="Wait for a condition",
    )
    alma.add_user_preference(user_id="ada", category="code_style", preference="Use strict mode in login tests")

    memories = alma.retrieve(task="Write a test of the login page", agent="dev", user_id="ada")
    prompt = memories.to_prompt(max_tokens=500)
    print(prompt)
    assert all(tag in prompt for tag in ("[S1]", "[K1]", "[A1]", "[P1]"))

    answer = "I wait for a condition, as [A1] says."
    alma.record_usage(retrieved_memory_ids=memories.ids, used_memory_ids=memories.cited(answer), agent="dev", user_id="ada")
