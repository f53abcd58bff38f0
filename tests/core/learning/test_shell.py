"""Which shell commands are read in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.shell import READ_CHARS, commands_in, written_out


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("cd app && rm -fr build && make", {"cd", "rm", "make"}),
        ("sudo -u app rm -rf /srv/x", {"sudo", "app", "rm", "x"}),
        ("find . -name '*.log' | xargs rm -f", {"find", "xargs", "rm"}),
        ("kill -9 $(pgrep nginx)", {"kill", "pgrep"}),
        ("python3.11 -m pip install flask", {"python", "pip"}),
        ("docker exec web -- rm -rf /data/x", {"docker", "rm", "web"}),
        ("PGUSER=x /usr/bin/psql -h db", {"psql"}),
        ("for f in *; do rm -rf $f; done", {"for", "rm", "done"}),
        ("docker-compose up -d", {"docker", "docker-compose"}),
        ("git stash drop", {"git"}),
        ("Remove-Item build -Recurse", {"Remove-Item", "Remove"}),
    ],
)
def test_the_programs_of_a_command_are_found_behind_what_runs_them(text: str, programs: set[str]) -> None:
    assert commands_in(text).programs == programs


@pytest.mark.parametrize(
    "text",
    [
        "Delete the local branch",
        "wait for the modal with a fixed sleep",
        "use sleep() to wait",
        "render(items.map(draw)); done(2)",
        "x = compute -5",
        "never git push --force",
        "avoid git push --force",
        "rolling update of the nodes, one after another",
        "",
        " ",
        "'",
        "|",
        "&& ;",
    ],
)
def test_sentences_and_code_are_no_commands(text: str) -> None:
    assert not commands_in(text).pipelines


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ('ssh build01 "docker system prune -a"', "docker system prune -a"),
        ("sudo sh -c 'rm -rf build'", "rm -rf build"),
        ('psql -c "DELETE FROM users"', "DELETE FROM users"),
    ],
)
def test_a_text_that_a_program_runs_is_an_instruction(text: str, instruction: str) -> None:
    assert commands_in(text).instructions == (instruction,)


@pytest.mark.parametrize("text", ['grep "rm -rf" notes.txt', 'git commit -m "rm -rf build"', "echo 'rm -rf build'"])
def test_a_text_that_a_program_is_given_is_data(text: str) -> None:
    found = commands_in(text)

    assert not found.instructions
    assert "rm" not in found.unquoted


@given(st.text(alphabet="ab-/.|;&$()\"'\\ \n=") | st.text())
def test_any_text_can_be_read(text: str) -> None:
    commands_in(text)


@pytest.mark.parametrize("piece", ["(", "$(", "sudo ", "rm x;", "a|", "'", '"\\', "a'b", "-- ", "run x ", "nice-", "a=b ", "./"])
def test_reading_a_long_text_takes_no_longer_than_its_beginning_does(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    assert commands_in(text) == commands_in(text[:READ_CHARS])


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("npm -w web i", "npm -w web install"),
        ("npm --prefix web rm left-pad", "npm --prefix web uninstall left-pad"),
        ("pnpm -w i", "pnpm -w install"),
        ("cargo +nightly b --release", "cargo +nightly build --release"),
        ("kubectl -n no get po", "kubectl -n no get pod"),
        ("kubectl delete pod ns", "kubectl delete pod ns"),
        ("kubectl delete po/ns svc/web", "kubectl delete pod/ns service/web"),
        ("kubectl rollout restart deploy web", "kubectl rollout restart deployment web"),
        ("kubectl logs -f deploy/web", "kubectl logs -f deployment/web"),
        ("kubectl apply -f deploy/", "kubectl apply -f deploy/"),
        ("kubectl exec web -- ls svc/web", "kubectl exec web -- ls svc/web"),
    ],
)
def test_verbs_and_resources_are_written_out_and_names_and_values_are_not(command: str, written: str) -> None:
    program, *words = command.split()

    assert (program, *written_out(program, words)) == tuple(written.split())
