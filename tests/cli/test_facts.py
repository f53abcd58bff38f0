"""Facts on the command line: what contradicts them, when they were known, and where they come from."""


def test_times_narrow_what_is_retrieved_and_explained(project) -> None:
    learned = project("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "--json").json
    task = ("Test the login form", "-a", "helena", "--json")

    assert project("retrieve", *task, "--since", "2026-01-01").json["recalled"]
    assert not project("retrieve", *task, "--until", "2026-01-01").json["recalled"]
    assert not project("retrieve", *task, "--as-of", "2026-01-01T12:00:00").json["recalled"]
    told = project("explain", "Test the login form", learned["id"], "--as-of", "2026-01-01", "--json").json
    assert told["reason"] == "outside_times"
    assert "--since" in project("retrieve", *task, "--since", "yesterday", code=2).err


def test_contradictions_are_told_and_left_out(project) -> None:
    from alma import ALMA

    with ALMA.from_config() as alma:
        old = alma.add_domain_knowledge("helena", "login", "The login timeout is 30 s")
        alma.add_domain_knowledge("helena", "login", "The login timeout is 60 s")
    ask = ("retrieve", "How long is the login timeout?", "-a", "helena")

    told = project(*ask).out
    assert "Contradiction: “The login timeout is 60 s” against “The login timeout is 30 s”" in told
    assert "(left out)" not in told
    assert "(left out)" in project(*ask, "--verified").out
    assert len(project(*ask, "--verified", "--json").json["recalled"]) == 1
    why = project("explain", "How long is the login timeout?", old.id, "--verified", "--json").json
    assert why["reason"] == "contradicted"


def test_a_memory_is_shown_with_where_it_comes_from(project) -> None:
    from alma import ALMA

    with ALMA.from_config() as alma:
        fact = alma.add_domain_knowledge("helena", "login", "The timeout is 30 s", metadata={"document": "runbook.pdf"})

    shown = project("show", fact.id).out
    assert "where from" in shown
    assert "stated by a user or a program" in shown
    assert "document runbook.pdf" in shown
    assert "where from: stated by a user or a program; document runbook.pdf" in project("explain", "timeout", fact.id).out
