"""The tokens of a store: made, found, expired, revoked, by several processes at once."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.errors import ConfigurationError
from alma_access import MEMORY_RIGHTS, Access, GivenTokens, TokenFile, is_mistyped, token_of

HOUR = 3_600_000_000
NOON = 1_795_867_200_000_000
SECRET = "alma_abcdefgh_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
BOUND = Access(agent="helena", user_id="maria", projects=("shop",), rights=frozenset({"read", "write"}), source="tool")

ADD = """
import sys; from pathlib import Path; from alma_access import Access, TokenFile
file = TokenFile(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    print(file.add(f"{sys.argv[2]}-{number}", Access()), flush=True)
"""


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path, clock: Clock) -> TokenFile:
    return TokenFile(tmp_path, now=clock)


def test_a_token_is_found_by_its_secret_with_all_that_it_is_bound_to(file: TokenFile) -> None:
    secret = file.add("web", BOUND, expires=NOON + HOUR)

    found = file.find(secret)
    assert found is not None
    assert (found.name, found.access, found.expires) == ("web", BOUND, NOON + HOUR)
    assert TokenFile(file.folder).tokens()["web"].access == BOUND


def test_a_secret_is_found_by_scanners_and_names_its_token(file: TokenFile) -> None:
    secret = file.add("web", BOUND)

    assert re.fullmatch(r"alma_[a-z2-7]{8}_[A-Za-z0-9_-]{49}", secret)
    assert secret.split("_")[1] == file.tokens()["web"].id


def test_no_file_holds_a_secret_and_only_the_owner_reads_them(file: TokenFile) -> None:
    secrets = [file.add(name, BOUND) for name in ("web", "laptop")]
    for secret in secrets:
        file.find(secret)

    held = [path for path in file.folder.iterdir() if path.is_file()]
    assert len(held) >= 2
    for path in held:
        assert not any(secret.rpartition("_")[2][:20] in path.read_text("utf-8") for secret in secrets)
        if os.name != "nt":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_is_given_once_and_is_one_line_of_text(file: TokenFile) -> None:
    file.add("web", BOUND)

    for name, said in (("web", "already"), ("", "printable"), ("a\nb", "printable"), ("a" * 201, "printable")):
        with pytest.raises(ConfigurationError, match=said):
            file.add(name, BOUND)
    assert list(file.tokens()) == ["web"]


def test_a_token_ends_when_it_expires_and_its_owner_is_told(file: TokenFile, clock: Clock) -> None:
    secret = file.add("web", BOUND, expires=NOON + HOUR)

    clock.now = NOON + HOUR - 1
    assert file.find(secret) is not None
    clock.now = NOON + HOUR
    assert file.find(secret) is None
    assert file.refusal(secret) == "the token 'web' expired on 2026-11-28"
    assert list(file.tokens()) == ["web"]


def test_a_token_that_would_have_expired_is_not_made(file: TokenFile) -> None:
    with pytest.raises(ConfigurationError, match="expired already"):
        file.add("web", BOUND, expires=NOON)
    assert file.tokens() == {}


def test_a_typo_is_told_from_a_wrong_key(file: TokenFile, tmp_path: Path) -> None:
    secret = file.add("web", BOUND)
    foreign = TokenFile(tmp_path / "other").add("web", BOUND)

    assert "mistyped" in file.refusal(secret[:-1])
    assert "mistyped" in file.refusal(secret[:30] + ("A" if secret[30] != "A" else "B") + secret[31:])
    assert "another server" in file.refusal(foreign)
    assert "another server" in file.refusal("some-key-of-my-own")
    assert file.find(secret[:-1]) is None
    assert file.find(foreign) is None


@given(st.data())
def test_no_single_wrong_character_goes_unnoticed(data: st.DataObject) -> None:
    whole = _with_checksum(SECRET)
    place = data.draw(st.integers(5, len(whole) - 1))
    other = data.draw(st.sampled_from("ABCabc012_- é").filter(lambda mark: mark != whole[place]))

    assert not is_mistyped(whole)
    assert is_mistyped(whole[:place] + other + whole[place + 1 :])
    assert is_mistyped(whole[:place])


def _with_checksum(begun: str) -> str:
    import base64
    import zlib

    return begun + base64.urlsafe_b64encode(zlib.crc32(begun.encode()).to_bytes(4, "big")).decode().rstrip("=")


@given(st.text(max_size=80))
def test_any_text_that_is_no_token_is_refused_in_words(secret: str) -> None:
    tokens = GivenTokens((token_of("a-secret-of-my-own", BOUND),))

    assert tokens.find(secret) is None
    assert tokens.refusal(secret).startswith("the token")


def test_a_running_server_notices_new_and_revoked_tokens_at_the_next_request(file: TokenFile) -> None:
    server = TokenFile(file.folder)
    assert server.find("some-key-of-my-own") is None
    secret = file.add("web", Access())
    assert server.find(secret) is not None
    file.revoke("web")
    assert server.find(secret) is None
    with pytest.raises(ConfigurationError, match="no token 'web'"):
        file.revoke("web")


def test_the_last_use_is_noted_about_once_an_hour(file: TokenFile, clock: Clock) -> None:
    secret = file.add("web", BOUND)
    assert file.tokens()["web"].last_used is None

    for minutes, noted in ((0, 0), (59, 0), (61, 61)):
        clock.now = NOON + minutes * 60_000_000
        assert file.find(secret) is not None
        assert file.tokens()["web"].last_used == NOON + noted * 60_000_000


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that bind this user")
def test_where_the_last_use_cannot_be_noted_a_token_is_valid_all_the_same(file: TokenFile) -> None:
    secret = file.add("web", BOUND)
    file.folder.chmod(0o500)
    try:
        assert file.find(secret) is not None
    finally:
        file.folder.chmod(0o700)


def test_a_damaged_note_of_uses_costs_only_the_notes(file: TokenFile) -> None:
    secret = file.add("web", BOUND)
    (file.folder / "token_uses.json").write_text("[1", encoding="utf-8")

    assert file.tokens()["web"].last_used is None
    assert file.find(secret) is not None


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path), name, "8"], stdout=subprocess.PIPE, text=True)
        for name in ("a", "b", "c")
    ]
    secrets = [line for process in started for line in process.communicate()[0].split()]

    assert [process.returncode for process in started] == [0, 0, 0]
    file = TokenFile(tmp_path)
    assert len(secrets) == len(file.tokens()) == 24
    assert all(file.find(secret) for secret in secrets)


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_a_process_killed_while_it_adds_loses_no_token_that_it_printed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ADD, str(tmp_path), "a", "1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    secrets = [process.stdout.readline().strip() for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    secrets += process.communicate()[0].split()

    file = TokenFile(tmp_path)
    assert all(file.find(secret) for secret in secrets)
    assert file.find(file.add("after", Access())) is not None


FORMER = {
    "name": "laptop",
    "sha256": token_of("a-former-secret-of-43", Access()).sha256,
    "access": {"agent": "helena", "user_id": "*"},
}


@pytest.fixture
def former(tmp_path: Path) -> TokenFile:
    path = tmp_path / "mcp_tokens.json"
    path.write_text(json.dumps({"version": 1, "tokens": [FORMER]}), encoding="utf-8")
    path.chmod(0o600)
    return TokenFile(tmp_path)


def test_a_token_of_an_earlier_version_is_valid_with_the_rights_that_it_had(former: TokenFile) -> None:
    found = former.find("a-former-secret-of-43")

    assert found is not None
    assert found.access == Access(agent="helena", rights=MEMORY_RIGHTS)
    assert "admin" not in MEMORY_RIGHTS


def test_tokens_of_an_earlier_version_stay_valid_beside_new_ones_and_can_be_revoked(former: TokenFile) -> None:
    secret = former.add("web", BOUND)
    assert former.find("a-former-secret-of-43") is not None

    former.revoke("laptop")
    assert former.find("a-former-secret-of-43") is None
    assert former.find(secret) is not None


def test_a_revoked_token_does_not_return_with_a_file_of_an_earlier_version(former: TokenFile) -> None:
    text = (former.folder / "mcp_tokens.json").read_text("utf-8")
    former.revoke("laptop")
    (former.folder / "mcp_tokens.json").write_text(text, encoding="utf-8")

    assert former.find("a-former-secret-of-43") is None


ACCESS = {"agent": "*", "user_id": "*", "projects": ["*"], "rights": ["read"], "source": "agent"}
WHOLE = {"name": "web", "id": "abcdefgh", "sha256": "0" * 64, "access": ACCESS, "expires": None}


def listed(*rows: object, version: int = 2) -> str:
    return json.dumps({"version": version, "tokens": rows})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"version": 2}',
        "[" * 100_000,
        listed(version=3),
        listed({**WHOLE, "sha256": None}),
        listed({**WHOLE, "expires": "soon"}),
        listed({key: value for key, value in WHOLE.items() if key != "expires"}),
        listed({**WHOLE, "access": {**ACCESS, "agent": 5}}),
        listed({**WHOLE, "access": {**ACCESS, "rights": ["red"]}}),
        listed({**WHOLE, "access": {key: value for key, value in ACCESS.items() if key != "rights"}}),
        listed("web", version=1),
        "\udcff\udcfe",
    ],
    ids=range(14),
)
def test_no_token_of_a_damaged_file_is_valid_and_the_file_is_named(
    file: TokenFile, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = file.add("web", Access())
    assert file.find(secret) is not None
    file.path.write_bytes(text.encode("utf-8", "surrogateescape"))

    assert file.find(secret) is None
    assert "tokens.json" in caplog.text
    with pytest.raises(ConfigurationError, match=r"tokens\.json"):
        file.tokens()


def test_a_file_with_all_that_a_token_needs_is_read(file: TokenFile) -> None:
    file.folder.mkdir(exist_ok=True)
    file.path.write_text(listed(WHOLE), encoding="utf-8")
    file.path.chmod(0o600)

    assert file.tokens()["web"].access == Access(rights=frozenset({"read"}))


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_no_token_of_a_file_that_others_may_write_is_valid(file: TokenFile) -> None:
    secret = file.add("web", Access())
    file.path.chmod(0o620)

    assert file.find(secret) is None
    with pytest.raises(ConfigurationError, match="others may write"):
        file.add("laptop", Access())


@pytest.mark.parametrize(("secret", "said"), [("short", "at least 16"), (_with_checksum(SECRET)[:-1], "mistyped")])
def test_a_chosen_secret_that_is_short_or_was_cut_is_refused(secret: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        token_of(secret, Access())


def test_of_several_that_make_a_first_token_at_once_one_does(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def make(_: int) -> str | None:
        barrier.wait()
        return TokenFile(tmp_path).add_first("default", Access())

    with ThreadPoolExecutor(8) as pool:
        (secret,) = [each for each in pool.map(make, range(8)) if each is not None]
    assert TokenFile(tmp_path).find(secret) is not None
    assert TokenFile(tmp_path).add_first("another", Access()) is None
    assert list(TokenFile(tmp_path).tokens()) == ["default"]
