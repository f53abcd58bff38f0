"""Whether a call went well, read from what the tool returned."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_integration.answers import ERROR_CHARS, TEXT_CHARS, ToolVerdict, answer_text, tool_verdict
from alma_integration.error_texts import error_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: (
        st.lists(inside) | st.dictionaries(st.sampled_from(["error", "status", "ok", "content", "type", "text", "code"]), inside)
    ),
)


@dataclass
class Message:
    """A tool message of LangChain, as far as it is read."""

    content: Any
    status: str = "success"
    type: str = "tool"


@dataclass
class Output:
    """A tool output of LlamaIndex, as far as it is read; `content` is a property there, too."""

    raw_output: Any
    is_error: bool = False
    exception: Exception | None = None

    @property
    def content(self) -> str:
        return str(self.raw_output)


@dataclass
class Part:
    text: str
    type: str = "text"


@dataclass
class CallResult:
    """A result of MCP, as far as it is read."""

    content: list[Any]
    isError: bool = False  # noqa: N815 - the protocol's name
    structuredContent: Any = None  # noqa: N815


class Response:
    """An HTTP response whose body is loaded, or would be read from the network."""

    def __init__(self, status_code: int, body: bytes | None = b"") -> None:
        self.status_code, self._content = status_code, body

    @property
    def text(self) -> NoReturn:
        raise AssertionError("this would read from the network")


class Nasty:
    """Fails at whatever is asked of it."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError(name)

    def __str__(self) -> NoReturn:
        raise RuntimeError

    __repr__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __str__  # type: ignore[assignment]


class NastyText(str):
    """Text that cannot be cut."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> NoReturn:
        raise RuntimeError

    def __len__(self) -> NoReturn:
        raise RuntimeError


class NastyMapping(dict[str, Any]):
    def items(self) -> NoReturn:
        raise RuntimeError


class NastyList(list[Any]):
    def __getitem__(self, key: Any) -> NoReturn:
        raise RuntimeError

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("Error: 503 Service Unavailable", "Error: 503 Service Unavailable"),
        ("ERROR 503 Service Unavailable", "ERROR 503 Service Unavailable"),
        ("Error executing tool: boom", "Error executing tool: boom"),
        ("Exception: boom", "Exception: boom"),
        ("TimeoutError: no answer", "TimeoutError: no answer"),
        ("Failed to open the file", "Failed to open the file"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("Command failed with exit code 127", "Command failed with exit code 127"),
        ("HTTP 404 Not Found", "HTTP 404 Not Found"),
        ("Timeout after 30s", "Timeout after 30s"),
        ("Invalid API key", "Invalid API key"),
        ("Expired access token.", "Expired access token."),
        ("Error", "Error"),
        (
            'psycopg2.errors.UndefinedTable: relation "a" does not exist',
            'psycopg2.errors.UndefinedTable: relation "a" does not exist',
        ),
        ("1 failed, 11 passed", "1 failed, 11 passed"),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        ("<Error><Code>NoSuchKey</Code><Message>No such key.</Message></Error>", "No such key."),
        ('Traceback (most recent call last):\n  File "a.py", line 1\nshop.StockError: none left\n', "shop.StockError: none left"),
        ("错误：找不到文件", "错误：找不到文件"),
        ("\x1b[31merror: unknown option\x1b[0m", "error: unknown option"),
        ({"error": "x"}, "x"),
        ({"error": {"message": "quota used up", "code": 8}}, "quota used up"),
        ({"ok": False, "error": "channel_not_found"}, "channel_not_found"),
        ({"success": False, "message": "no stock"}, "no stock"),
        ({"status": "error", "message": "no stock"}, "no stock"),
        ({"status_code": 503}, "HTTP status 503"),
        ({"isError": True, "content": [{"type": "text", "text": "boom"}]}, "boom"),
        ({"is_error": True}, "failed without a message"),
        ({"exit_code": 1}, "exit status 1"),
        ({"returncode": 2, "stdout": "partly done", "stderr": "no such option"}, "no such option"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}, "Method not found"),
        ({"errors": [{"message": "Unknown field"}]}, "Unknown field"),
        ({"errors": [{"message": "Unauthorized"}], "data": None}, "Unauthorized"),
        ('{"error": "not found"}', "not found"),
        ("{'error': 'not found'}", "{'error': 'not found'}"),
        ({"result": {"error": "not found"}}, "not found"),
        ({"type": "tool", "content": "boom", "tool_call_id": "1", "status": "error"}, "boom"),
        ([{"type": "tool_result", "is_error": True, "content": "boom"}], "boom"),
        ("[stderr]\nSyntaxError: unmatched ')'", "SyntaxError: unmatched ')'"),
        ("Exit code 2\nrg: unrecognized flag --include", "Exit code 2\nrg: unrecognized flag --include"),
        (b"Error: no such user", "Error: no such user"),
        ("Tool Error: boom", "Tool Error: boom"),
        ("MCP error -32001: Request timed out", "MCP error -32001: Request timed out"),
        ("no such table\n[exit code 1]", "[exit code 1]"),
        ("API rate limit exceeded for user 5.", "API rate limit exceeded for user 5."),
        ("Connection refused", "Connection refused"),
        ("Request timed out", "Request timed out"),
        ("zsh: command not found: foo", "zsh: command not found: foo"),
        ("Failed to fetch https://a.test", "Failed to fetch https://a.test"),
        ({"url": "https://a.test", "status_code": 404, "error": "Not Found"}, "Not Found"),
        ({"status": "error", "error": "boom", "query": "q"}, "boom"),
        (ValueError("no such user"), "ValueError: no such user"),
        (
            "<returncode>2</returncode>\n<output>\nno such target\n</output>",
            "<returncode>2</returncode>\n<output>\nno such target\n</output>",
        ),
        ("Parser Error: unexpected end of input", "Parser Error: unexpected end of input"),
        ("a.c:3:9: fatal error: zlib.h: No such file", "a.c:3:9: fatal error: zlib.h: No such file"),
        ("a.py:3:1: F401 `os` imported but unused\nFound 1 error.", "a.py:3:1: F401 `os` imported but unused\nFound 1 error."),
        ("Access denied - not your folder", "Access denied - not your folder"),
        ("zsh: permission denied: ./a.sh", "zsh: permission denied: ./a.sh"),
        ("Unknown tool 'sum'.", "Unknown tool 'sum'."),
        ("Invalid mail address: 'x'", "Invalid mail address: 'x'"),
        ("The page 'faq' does not exist", "The page 'faq' does not exist"),
        ("Upload failed because the disk is full", "Upload failed because the disk is full"),
        ("Insufficient credits", "Insufficient credits"),
        ("Tool 'sum' raised an exception: boom", "Tool 'sum' raised an exception: boom"),
        ("Msg 102, Level 15, State 1, Line 1\nbad", "Msg 102, Level 15, State 1, Line 1\nbad"),
        ("HTTP 404: no such repository", "HTTP 404: no such repository"),
        ("Tests: 9, Assertions: 22, Failures: 1.", "Tests: 9, Assertions: 22, Failures: 1."),
        ("12 examples, 1 failure", "12 examples, 1 failure"),
        ("9 problems (8 errors, 1 warning)", "9 problems (8 errors, 1 warning)"),
        ("  2 passing\n  1 failing\n\n  1) sums", "1 failing"),
        ("web1 : ok=3    changed=1    unreachable=0    failed=1", "web1 : ok=3    changed=1    unreachable=0    failed=1"),
        ("CMake Error at CMakeLists.txt:3 (find_package):\n  no Qt", "CMake Error at CMakeLists.txt:3 (find_package):\n  no Qt"),
        ("Killed", "Killed"),
        ({"status": 404, "body": "Not Found"}, "Not Found"),
        ({"detail": "The token has expired."}, "The token has expired."),
    ],
)
def test_an_answer_that_is_an_error_is_a_failure_with_its_telling_text(answer: object, error: str) -> None:
    assert tool_verdict(answer) == ToolVerdict(ok=False, error=error)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "",
        0,
        False,
        "Paris",
        "Error handling in Python",
        "Timeout after 30 s is the default of the client.",
        "Invalid API keys are listed on page 3",
        "Missing token values are drawn as blanks.",
        "psycopg2.errors.UndefinedTable",
        "Error handling in Python: a guide",
        "GET /a 200\nError: 503\nGET /b 200",
        "Error: 503\nError: 504\nError: 503",
        "Error: 503 at checkout\n\nMia saw it on 2 March. The page then showed an error.",
        "def f():\n    raise ValueError('Error: bad')",
        "app.py:12:    raise ValueError('Error: bad')",
        "app.log:12: error: no stock",
        "Subject: ERROR: backup",
        "Failed to Launch is a film.",
        "TimeoutError: checkout hangs\nStatus: open\nReported by: Mia",
        "TimeoutError: checkout hangs (#12)",
        "<ErrorReport><total>3</total></ErrorReport>",
        "12 passed, 0 failed",
        "0 failed",
        "3 failed",
        "2 errors",
        "Error: 0",
        "Error: none",
        "Last error: timeout (2 days ago)",
        "TypeError: x is not a function - Stack Overflow",
        "error:\n  retries: 3",
        "error: /var/log/error.log\naccess: /var/log/access.log",
        "<title>How to fix 502 Bad Gateway</title>",
        "HTTP/1.1 200 OK\r\n\r\nError: 503",
        {"error": None},
        {"error": ""},
        {"errors": []},
        {"errors": ""},
        {"error": {}},
        {"error": "timeout", "count": 12},
        {"errors": {"503": 12, "404": 3}},
        {"errors": [{"code": 503, "count": 12}]},
        {"status": "failed_payments_listed"},
        {"status": "failed", "payments": [{"id": 1}]},
        {"id": 7, "status": "failed", "error": "declined"},
        {"success": True, "errors": 0},
        {"exit_code": 0, "stderr": "Error: only a warning"},
        {"status_code": 204},
        {"status": 304},
        {"code": 200},
        {"code": "E42", "name": "bracket"},
        {"level": "error", "message": "boom", "code": 500},
        {"valid": False, "errors": ["name is missing"]},
        {"data": {"user": 1}, "errors": [{"message": "orders timed out"}]},
        [{"id": 1, "status": "error"}, {"id": 2, "status": "ok"}],
        [{"error": "declined"}],
        '[{"title": "Error: 503"}]',
        {"name": "shop", "error": {"pages": ["404.html"]}, "version": 2},
        {"job": "nightly", "status": "failed"},
        {"job": "nightly", "status": "failed", "error": "disk full"},
        {"errors": [{"message": "indentation", "line": 3}], "warnings": []},
        {"url": "https://a.test", "status_code": 404},
        "Cannot find any open tickets assigned to you.",
        "Failed to qualify for the 2022 World Cup after a loss to Macedonia.",
        "Timeout is 30 seconds.",
        "Exit code: 0\nError: this line is in the file",
        "<returncode>0</returncode>\n<output>\nerror: from a log\n</output>",
        "Standard Error: 0.2",
        "Invalid logins: 3",
        "Invalid rows: 3 of 40",
        "I cannot browse the web, but here is what I know.",
        "The survivors could not be found.",
        "The launch failed because of the weather. A second try is planned for May.",
        "Your file was found in the archive",
        "Permission denied errors: causes and fixes",
        "web1 : ok=9    changed=1    unreachable=0    failed=0",
        "12 examples, 0 failures",
        "  20 passing\n  0 failing",
        "Found 3 errors.",
        {"status": 404, "body": "<html>a page about rooms</html>"},
        {"detail": "The parcel is on its way."},
    ],
)
def test_an_answer_about_errors_went_well(answer: object) -> None:
    assert tool_verdict(answer) == ToolVerdict(ok=True)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Message("boom", status="error"), "boom"),
        (Message("Error: 503 Service Unavailable"), "Error: 503 Service Unavailable"),
        (Message([{"type": "text", "text": "Error: 503 upstream"}]), "Error: 503 upstream"),
        (Output("boom", is_error=True), "boom"),
        (Output("partly done", exception=KeyError("price")), "KeyError: 'price'"),
        (Output({"error": "no such user"}), "no such user"),
        (CallResult([Part("no such "), Part("table")], isError=True), "no such \ntable"),
        (CallResult([], isError=True, structuredContent={"error": "locked"}), "locked"),
        (CallResult([Part('{"error": "token expired"}')]), "token expired"),
        (subprocess.CompletedProcess(["x"], 2, stdout=b"", stderr=b"no such option\n"), "no such option"),
        (subprocess.CompletedProcess(["x"], -9, stdout="", stderr=""), "exit status -9"),
        (Response(503, b"<title>503 Service Unavailable</title>"), "HTTP 503: 503 Service Unavailable"),
        (Response(404, None), "HTTP 404"),
        (Response(200, b'{"ok": false, "error": "not_in_channel"}'), "not_in_channel"),
        (SimpleNamespace(success=False, error="no stock"), "no stock"),
        (SimpleNamespace(value=None, error="no stock"), "no stock"),
        (subprocess.CalledProcessError(1, ["x"], stderr="no such option"), "CalledProcessError: no such option"),
    ],
)
def test_the_failure_of_an_object_is_read_from_what_its_class_states(answer: object, error: str) -> None:
    assert tool_verdict(answer) == ToolVerdict(ok=False, error=error)


@pytest.mark.parametrize(
    "answer",
    [
        Message("Paris"),
        Message("Error codes are listed in the appendix."),
        Output([{"level": "error"}]),
        Output(None),
        CallResult([Part("3 files"), Part("Error: is the second file")]),
        CallResult([], structuredContent={"result": [1, 2]}),
        subprocess.CompletedProcess(["x"], 0, stdout="Error: 503", stderr="Error: 503"),
        Response(200, b"Error: 503"),
        Response(304, None),
        SimpleNamespace(id=1, status="failed", error="declined"),
        SimpleNamespace(value=3, error="partial"),
        object(),
        object,
    ],
)
def test_an_object_that_states_no_failure_went_well(answer: object) -> None:
    assert tool_verdict(answer).ok


def test_a_traceback_on_stderr_is_told_by_its_last_line() -> None:
    code = "def f(n):\n    f(n - 1) if n else 1 / 0\nf(90)"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert tool_verdict(failed).error == "ZeroDivisionError: division by zero"


def test_an_attribute_that_only_a_proxy_would_answer_is_not_asked_for() -> None:
    class Proxy:
        def __getattr__(self, name: str) -> NoReturn:
            raise KeyboardInterrupt(name)

    assert tool_verdict(Proxy()).ok


@pytest.mark.slow
@given(JSON)
def test_any_json_gets_the_verdict_that_its_text_gets(value: Any) -> None:
    verdict = tool_verdict(value)

    assert verdict.ok is (verdict.error is None)
    if isinstance(value, dict | list) and value == value:
        assert tool_verdict(json.dumps(value)) == verdict


@pytest.mark.slow
@given(st.text() | st.binary() | JSON)
def test_texts_are_bounded_and_can_be_stored(value: Any) -> None:
    error, text = tool_verdict(value).error or "", answer_text(value)

    assert len(error) <= ERROR_CHARS
    assert len(text) <= TEXT_CHARS
    (error + text).encode()


@given(
    st.sampled_from(["Error: ", "HTTP 500", "Traceback (most recent call last):\n", "{", "<Error>", "a: ", "error: \n"]),
    st.text(),
)
def test_no_text_is_too_odd_for_a_verdict(begin: str, rest: str) -> None:
    assert tool_verdict(begin + rest).ok in (True, False)


@pytest.mark.parametrize(
    "nasty",
    [
        Nasty,
        lambda: NastyText("Error: x"),
        lambda: NastyMapping(error="x"),
        lambda: NastyList(["x"]),
        lambda: [Nasty()],
        lambda: {"error": Nasty()},
    ],
)
def test_an_object_that_fails_at_everything_went_well_and_has_a_text(nasty: Callable[[], object]) -> None:
    assert tool_verdict(nasty()).ok
    assert isinstance(answer_text(nasty()), str)


def test_being_interrupted_is_not_swallowed() -> None:
    class Interrupting:
        @property
        def content(self) -> NoReturn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tool_verdict(Interrupting())


def test_a_structure_that_contains_itself_ends() -> None:
    loop: dict[str, Any] = {}
    loop["result"] = loop["error"] = loop

    assert tool_verdict({"result": loop}).ok in (True, False)
    assert answer_text(loop).startswith('{"result": {')


@pytest.mark.parametrize(
    "unit", ["a", "A b. Aa ", "error: a\n", "Error ", "a_.", "x: ", "[", "{", "<a", "1 failed, ", "\n", "a:1: "]
)
@pytest.mark.parametrize("begin", ["", "Error: x\n\n", "Command ", "<title>", "Traceback (most recent call last):\n"])
def test_no_long_text_takes_more_than_a_moment(begin: str, unit: str) -> None:
    assert tool_verdict(begin + unit * 1_000_000).error != unit * 1_000_000


def test_no_wide_and_deep_structure_takes_more_than_a_moment() -> None:
    wide: list[Any] = []
    for _ in range(20):
        wide = [wide] * 1_000

    assert tool_verdict({"error": wide, "errors": wide, "content": wide, "result": wide}).ok in (True, False)
    assert len(answer_text({"error": wide})) <= TEXT_CHARS


def test_an_error_that_begins_a_long_dump_is_found() -> None:
    assert tool_verdict("java.io.IOException: refused\n" + "\tat A.b(A.java:1)\n" * 10_000).ok is False


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Paris", "Paris"),
        (None, ""),
        (42, "42"),
        (b"Paris", "Paris"),
        ({"city": "Paris", "temp": [12, 1.5, None, True]}, '{"city": "Paris", "temp": [12, 1.5, null, true]}'),
        ([{"type": "text", "text": "Paris"}, {"type": "image", "data": "…"}], "Paris"),
        (Message("Paris"), "Paris"),
        (CallResult([Part("Paris"), Part("France")]), "Paris\nFrance"),
        (subprocess.CompletedProcess(["x"], 0, stdout="Paris\n", stderr=""), "Paris"),
        (subprocess.CompletedProcess(["x"], 0, stdout="", stderr=""), ""),
        (Response(200, b"Paris"), "Paris"),
        (KeyError("price"), "KeyError: 'price'"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_the_text_of_an_answer_is_what_a_person_would_read(answer: object, text: str) -> None:
    assert answer_text(answer) == text


@pytest.mark.parametrize(
    "answer",
    [
        "The file was not found to be a duplicate, so it was imported.",
        "The email could not be sent earlier; it is now delivered.",
        "Table orders does not exist in the old schema, it was renamed.",
        "The table was not found by the customer, who left.",
        "access denied: 3 users today",
    ],
)
def test_a_sentence_that_goes_on_is_no_error(answer: str) -> None:
    assert error_in(answer) is None


def test_an_absence_that_ends_the_sentence_is_an_error() -> None:
    for answer in ("The file was not found.", "Your requirements could not be resolved to an installable set of packages."):
        assert error_in(answer) == answer
