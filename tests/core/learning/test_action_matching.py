"""Whether an action does what a pattern names: in code by the code, else by the words and a cosine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.action_matching import is_warned_of, read_action, read_pattern, words_of_code
from alma.learning.paraphrases import LIMITS

FAR, NEAR = 0.2, 0.75
SLEEP = "Using sleep() for async waits"


def warned(pattern: str, action: str, cosine: float = FAR, *, is_calibrated: bool = True) -> bool:
    return is_warned_of(read_pattern(pattern), read_action(action), cosine, LIMITS if is_calibrated else None)


@pytest.mark.parametrize("is_calibrated", [True, False])
@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        (SLEEP, "Using sleep(5000) for async waits"),
        (SLEEP, "time.sleep(5) until the page loads"),
        (SLEEP, "use sleep() to wait for the modal"),
        ("Array.sort without a comparator", "numbers = arr.sort()"),
        ("chmod 777", "chmod -R 777 /srv"),
        ("requests.get without a timeout", "requests.get(url)"),
        ("DELETE without a WHERE clause", "DELETE FROM sessions;"),
        ("Never use os.system()", 'os.system("ls")'),
        ('Bash(command="python manage.py flush")', '{"name": "Bash", "input": {"command": "python manage.py flush --no-input"}}'),
        ("git push --force", 'subprocess.run("git push -f origin main", shell=True)'),
        ("Runtime.getRuntime().exec with user input", "Runtime.getRuntime().exec(line)"),
        ("cy.wait(10000)", "cy.wait(500)"),
        ("sleep(5)", 'sleep("5s")'),
        ("usleep in the retry loop", "while (!ok()) usleep(1000);"),
        ("git push --force", "cd web\nmake\ngit push --force"),
        ("TRUNCATE TABLE in migrations", "cursor.execute('TRUNCATE TABLE users')"),
        ("cancel_reservation before checking the fare", '{"name": "cancel_reservation", "arguments": {"id": "X1"}}'),
        ("update(cabin='business') for basic economy", 'update(id="X1", cabin="business", flights=[])'),
        ("open_ticket -> close_ticket", "open_ticket → close_ticket"),
        ("cancel_booking without get_booking first", "cancel_booking(booking='B1')"),
        ("book_room with view='sea'", "book_room(nights=2, view='sea')"),
        ("book_room with view='sea'", "book_room(options={'view': 'sea'})"),
        ("update_cell with mode='overwrite'", "update_cell(2, 3, 'overwrite')"),
        ("requests.get with verify=False instead of verify=True", "requests.get(url, verify=False)"),
        ("subprocess.run without check=True", "subprocess.run(['ls'])"),
        ("open() without encoding='utf-8'", "open('notes.txt')"),
        ("json.dumps lacks ensure_ascii=False", "json.dumps(found)"),
        ("glob_files over build_output", "glob_files(root='web/build_output', pattern='*.js')"),
        ("apt-get remove on the build host", "apt-get remove -y jq"),
    ],
)
def test_code_that_a_pattern_names_is_warned_of_however_far_its_vector_is(
    pattern: str, action: str, *, is_calibrated: bool
) -> None:
    assert warned(pattern, action, is_calibrated=is_calibrated)


@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        (SLEEP, "Use WebDriverWait instead of sleep()"),
        (SLEEP, 'git commit -m "remove sleep() from async waits"'),
        (SLEEP, 'grep -rn "sleep(" tests/'),
        (SLEEP, "Remove all sleeps that are used for async waits"),
        ("requests.get without a timeout", "requests.get(url, timeout=10)"),
        ("fetch() without checking response.ok", "const r = await fetch(url); if (!response.ok) throw r"),
        ("DELETE without a WHERE clause", "DELETE FROM sessions WHERE expired"),
        ("Creating an index without CONCURRENTLY", "CREATE INDEX CONCURRENTLY i ON t (c)"),
        ("git push --force", "Never run `git push --force`"),
        ("Runtime.getRuntime().exec with user input", "Runtime.getRuntime().availableProcessors()"),
        ("cy.wait(10000)", 'cy.wait("@getUsers")'),
        ("TRUNCATE TABLE in migrations", "truncate(text, 80)"),
        ("usleep in the retry loop", "retry(times=3)"),
        ("git push --force", "Push the branch with git"),
        ("git reset --hard to undo changes", "Undo the changes with git reset"),
        ("Never force-push to main", "Never force-push to main"),
        ("update(cabin='business')", 'update(id="X1", cabin="economy")'),
        ("datetime.utcnow()", "datetime.now(timezone.utc)"),
        ("open_ticket -> close_ticket", "close_ticket"),
        ("cancel_booking without get_booking first", "get_booking(id='B1'); cancel_booking(booking='B1')"),
        ("book_room with view='sea'", "book_room(nights=2, view='garden')"),
        ("book_room with view='sea'", "book_room(nights=2)"),
        ("subprocess.run without check=True", "subprocess.run(['ls'], check=True)"),
        ("open() without close()", "file = open('notes.txt'); file.close()"),
        ("glob_files over build_output", "glob_files(root='src')"),
        ("apt-get remove on the build host", "apt-get install -y jq"),
        ("wget piped into a shell", "wget -qO- https://example.com/a.json | jq ."),
        ("JSON.parse(JSON.stringify(obj)) to clone", "JSON.parse(body)"),
    ],
)
def test_other_code_and_a_mention_are_not_however_near_its_vector_is(pattern: str, action: str) -> None:
    assert not warned(pattern, action, NEAR)


def test_a_sentence_is_judged_by_its_cosine_only_under_a_measured_embedder() -> None:
    pattern, action = "Raise the timeout of flaky tests", "If a flaky test fails, give it a longer timeout"

    assert warned(pattern, action, 0.8)
    assert not warned(pattern, action, 0.8, is_calibrated=False)
    assert warned("Rolling update", "do a rolling update", 0.0, is_calibrated=False)


def test_a_program_or_a_function_that_is_named_by_a_plain_word_must_be_near() -> None:
    assert warned("cat on large files", "cat huge.log", 0.6)
    assert not warned("cat on large files", "cat huge.log", 0.3)
    assert warned("strcpy into fixed buffers", "strcpy(buffer, name);", 0.6)
    assert not warned("strcpy into fixed buffers", "strcpy(buffer, name);", 0.3)


def test_a_shell_is_any_shell() -> None:
    pattern = "wget piped into a shell"
    assert warned(pattern, "wget -qO- https://example.com/install | sudo bash")
    assert warned(pattern, "wget -qO- https://example.com/install | sh")


def test_the_words_of_code_are_those_that_a_pattern_may_name_it_by() -> None:
    assert words_of_code(read_action('time.sleep(5); git_push("x")')) == ["sleep", "time", "git", "push"]
    assert {"kubectl", "rm"} <= set(words_of_code(read_action("sudo kubectl apply -f x && rm -rf y")))
    assert words_of_code(read_action("Wait for the page to load")) == []


texts = st.text(alphabet="ab sleep().-;|'\"`{}\n") | st.text()


@given(texts, texts, st.floats(-1.0, 1.0))
def test_any_pattern_and_any_action_can_be_compared(pattern: str, action: str, cosine: float) -> None:
    assert warned(pattern, action, cosine) in (True, False)


@given(texts)
def test_the_very_words_of_a_pattern_are_warned_of(text: str) -> None:
    assert text.strip().lower().startswith(("avoid", "never")) or warned(text, text)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["(", "sleep(", "rm -rf a; ", "sudo ", '"\\', "SELECT * ", "a.b(c, d=", "word ", "{[", "not "])
def test_long_actions_and_patterns_can_be_compared(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    action = read_action(text)

    for pattern in (SLEEP, "rm -rf on the build directory", text):
        is_warned_of(read_pattern(pattern), action, 0.5, LIMITS)


def test_a_word_that_says_where_or_when_names_no_call() -> None:
    assert warned("usleep in the retry loop", "usleep(250000);", NEAR)
    assert not warned("usleep in the retry loop", "retry(times=3)", NEAR)


def test_a_pattern_is_read_in_time_however_much_white_space_it_holds() -> None:
    """A regular expression that tries each run of white space from each of its places takes minutes for this."""
    assert read_pattern("sleep()" + " " * 100_000 + "in loops") == read_pattern("sleep() in loops")
