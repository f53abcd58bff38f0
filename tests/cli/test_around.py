"""What was kept around tasks, on the command line."""

from alma import ALMA
from alma.progress import ProgressTracker
from alma.session import SessionManager


def test_sessions_work_workflows_and_the_wake_up_are_shown(project, folder) -> None:
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        manager = SessionManager(alma=alma)
        session = manager.start_session("helena", "Ship it")
        manager.create_handoff("helena", session.session_id, "built the image", "success")
        ProgressTracker(alma=alma).create_work_item("Fix login", priority=80)
        alma.checkpoint("deploy", {"step": 3})
        alma.link_artifact("deploy", "code", "src/app.py")

    assert "built the image" in project("sessions", "-a", "helena").out
    assert project("sessions", "-a", "helena", "--json").json["sessions"][0]["status"] == "ended"
    assert project("sessions", "-a", "qa").out == "There is no such session.\n"
    assert "Next: Fix login" in project("work").out
    assert project("work", "--json").json["summary"]["available"] == 1
    assert '{"step": 3}' in project("workflow", "deploy").out
    assert project("workflow", "deploy", "--json").json["checkpoint"]["state"] == {"step": 3}
    assert project("workflow", "unknown").out == "There is no checkpoint.\n"
    assert "built the image" in project("wakeup", "-a", "helena").out
    assert project("wakeup", "-a", "helena", "--max-tokens", "0", "--json").json == {"wakeup": "", "hint": None}


def test_the_wake_up_of_a_misspelt_agent_names_the_known_one_beside_the_notes(project) -> None:
    project("learn", "-a", "helena", "-t", "Test the login", "-o", "success")
    said = project("wakeup", "-a", "helen")
    assert "did you mean 'helena'?" in said.err
    assert "did you mean" not in said.out
    assert "did you mean 'helena'?" in project("wakeup", "-a", "helen", "--json").json["hint"]
    assert project("wakeup", "-a", "helena").err == ""
