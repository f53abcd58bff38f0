"""The guard of addresses: what it lets through, where it is asked, and that nothing resolves a name behind its back."""

import asyncio
import socket
from collections.abc import Callable, Sequence

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma_events.webhooks import Endpoint, Guard, WebhookConfig, WebhookManager
from alma_events.webhooks.sending import Answer, Sender
from webhook_receiver import Receiver, Reply, receiving

REFUSED = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254"),
    *("192.168.0.1", "192.168.255.255", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.254", "192.0.0.1"),
    *("192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1"),
    *(
        "2001::1",
        "2001:0:7f00:1::",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "3fff::1",
        "3fff:fff::1",
        "fc00::1",
        "fd00:ec2::254",
    ),
    *("fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "100::1", "5f00::1", "4000::1", "no address", ""),
]
ALLOWED = [
    *("1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.167.1.1"),
    *(
        "169.253.1.1",
        "223.255.255.254",
        "::ffff:8.8.8.8",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860:4860::8888",
        "2400::1",
    ),
]
NUMBERS_OF_LOOPBACK = ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "localhost", "127.0.0.1.", "LOCALHOST"]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not Guard().allows("hooks.example.com", address)


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_is_allowed(address: str) -> None:
    assert Guard().allows("hooks.example.com", address)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [("64:ff9b::808:808", True), ("64:ff9b::7f00:1", False), ("64:ff9b::a9fe:a9fe", False), ("64:ff9b:1::808:808", False)],
)
def test_with_nat64_the_address_within_is_judged(address: str, is_allowed: bool) -> None:
    assert Guard(nat64=True).allows("hooks.example.com", address) is is_allowed


def test_an_operator_can_allow_hosts_and_networks_inside() -> None:
    guard = Guard(allow=("hooks.internal", "10.1.0.0/16", "fd00:1::/32"))
    assert guard.allows("HOOKS.internal.", "192.168.1.1")
    assert guard.allows("other.internal", "10.1.2.3")
    assert guard.allows("other.internal", "::ffff:10.1.2.3")
    assert guard.allows("other.internal", "fd00:1::9")
    assert not guard.allows("other.internal", "10.2.0.1")
    assert not guard.allows("evil-hooks.internal", "192.168.1.1")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://hooks.example.com/",
            "ftp://hooks.example.com/",
            "file:///etc/passwd",
            "gopher://x/",
            "//hooks.example.com/",
            "hooks",
        ),
        *(
            "https://",
            "https:///path",
            "https://user@hooks.example.com/",
            "https://user:s3cr3t@hooks.example.com/",
            "https://@h.example/",
        ),
        *(
            "https://hooks.example.com:22/",
            "https://hooks.example.com:25/",
            "https://hooks.example.com:0/",
            "https://h.example:99999/",
        ),
        *(
            "https://hooks.example.com:x/",
            "https://hooks.example.com\\@inside/",
            "https://hooks.exa mple.com/",
            "https://[fe80::1%25eth0]/",
        ),
        *(
            "https://hooks.example.com/\r\nX-A: b",
            "https://hooks.example.com/\u0000",
            "https://häuser.example/",
            "",
            "https://h.example/" + "a" * 3_000,
        ),
    ],
)
def test_a_url_that_cannot_be_of_a_receiver_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Guard().check_url(url)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["https://hooks.example.com", "https://hooks.example.com:8443/a?b=c", "https://[2606:4700::1111]/hook", "https://1.1.1.1/x"],
)
def test_a_url_of_https_is_one(url: str) -> None:
    assert Guard().check_url(url).scheme == "https"


def test_a_name_of_a_receiver_is_shown_without_its_path() -> None:
    assert Guard().check_url("https://hooks.example.com/token/abc?key=d").shown == "https://hooks.example.com"
    assert Guard().check_url("https://[2606:4700::1111]:8443/token").shown == "https://[2606:4700::1111]:8443"


def answers(*turns: Sequence[str]) -> Callable[[str, int], Sequence[str]]:
    """Returns a resolver that gives one answer after another, and then the last one."""
    left = list(turns)
    return lambda host, port: left.pop(0) if len(left) > 1 else left[0]


def post(url: str, guard: Guard, resolve: Callable[[str, int], Sequence[str]], *, times: int = 1) -> list[Answer]:
    async def run() -> list[Answer]:
        sender = Sender(url, guard, seconds=5.0, connections=1, resolve=resolve)
        found = [await sender.post(b"{}", {}) for _ in range(times)]
        await sender.close()
        return found

    return asyncio.run(run())


def named(receiver: Receiver, host: str) -> str:
    return receiver.url.replace("127.0.0.1", host)


def test_the_address_that_was_judged_is_the_one_that_is_dialled(receiver: Receiver) -> None:
    guard = Guard(allow_http=True, allow=("127.0.0.1/32",))
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    (answer,) = post(named(receiver, "hooks.test"), guard, resolve)
    assert answer.status == 204
    assert asked == ["hooks.test"]
    assert receiver.got[0].headers["host"].startswith("hooks.test:")


def test_a_name_with_one_address_inside_is_not_dialled_at_all(receiver: Receiver) -> None:
    guard = Guard(allow_http=True, allow=("127.0.0.1/32",))
    (answer,) = post(named(receiver, "hooks.test"), guard, answers(["127.0.0.1", "10.0.0.1"]))
    assert answer.error == "address refused"
    assert receiver.got == []


@pytest.mark.parametrize("host", NUMBERS_OF_LOOPBACK)
def test_other_spellings_of_loopback_are_not_dialled(receiver: Receiver, host: str) -> None:
    def resolve(name: str, port: int) -> list[str]:
        return (
            ["127.0.0.1"] if name.lower() == "localhost" else [socket.inet_ntoa(socket.inet_aton(name))]
        )  # as the C library reads it

    (answer,) = post(named(receiver, host), Guard(allow_http=True), resolve)
    assert answer.error in ("address refused", "no connection")
    assert receiver.got == []


def test_a_redirect_to_a_place_inside_is_not_followed(receiver: Receiver) -> None:
    with receiving() as inside:
        receiver.answer = lambda _: Reply(302, {"location": inside.url})
        (answer,) = post(receiver.url, Guard(allow_http=True, allow=("127.0.0.1",)), answers(["127.0.0.1"]))
        receiver.answer = lambda _: Reply(307, {"location": "http://169.254.169.254/latest/meta-data"})
        (second,) = post(receiver.url, Guard(allow_http=True, allow=("127.0.0.1",)), answers(["127.0.0.1"]))
        assert (answer.is_success, second.is_success, inside.got) == (False, False, [])
    assert (answer.error, second.error) == ("status 302", "status 307")


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        (answer,) = post(receiver.url, Guard(allow_http=True, allow=("127.0.0.1",)), answers(["127.0.0.1"]))
        assert answer.is_success
        assert proxy.got == []


def test_cookies_are_not_kept(receiver: Receiver) -> None:
    receiver.answer = lambda _: Reply(200, {"set-cookie": "a=b; Path=/"})
    post(receiver.url, Guard(allow_http=True, allow=("127.0.0.1",)), answers(["127.0.0.1"]), times=2)
    assert [each.headers.get("cookie") for each in receiver.got] == [None, None]


FLIPPING = [["127.0.0.1"], ["10.0.0.7"]]


def added(manager: WebhookManager, receiver: Receiver) -> Endpoint:
    config = WebhookConfig(
        named(receiver, "hooks.test"), allow_http=True, allow=["127.0.0.1/32"], retry_count=3, retry_delay=0.01
    )
    return manager.add_webhook(config)  # type: ignore[no-any-return]


def test_a_receiver_inside_is_refused_when_it_is_added(alma: ALMA) -> None:
    manager = WebhookManager(alma, resolve=answers(["169.254.169.254"]))
    with pytest.raises(ValidationError, match="not public"):
        manager.add_webhook(WebhookConfig("https://hooks.test/"))
    assert manager.webhook_count == 0


def test_a_receiver_that_moves_inside_after_it_was_added_is_refused_at_a_test_call(alma: ALMA, receiver: Receiver) -> None:
    manager = WebhookManager(alma, resolve=answers(*FLIPPING))
    assert manager.test(added(manager, receiver).id).error == "address refused"
    assert receiver.got == []


def test_a_receiver_that_moves_inside_after_it_was_added_is_refused_at_the_first_try_and_at_retries(
    alma: ALMA, receiver: Receiver, wait_until: Callable[..., None]
) -> None:
    manager = WebhookManager(alma, resolve=answers(*FLIPPING))
    endpoint = added(manager, receiver)
    alma.learn(agent="a", task="t", outcome=True)
    manager.start()
    wait_until(lambda: [each.status for each in manager.get_recent_deliveries()] == ["failed"])
    manager.stop()
    (delivery,) = manager.endpoints.deliveries(endpoint.id)
    assert (delivery.attempts, delivery.last_error) == (4, "address refused")
    assert receiver.got == []


def test_a_receiver_that_moves_inside_between_two_tries_is_refused_at_the_retry(
    alma: ALMA, receiver: Receiver, wait_until: Callable[..., None]
) -> None:
    receiver.answer = lambda _: Reply(500, {"connection": "close"})
    manager = WebhookManager(alma, resolve=answers(["127.0.0.1"], ["127.0.0.1"], ["169.254.169.254"]))
    endpoint = added(manager, receiver)
    alma.learn(agent="a", task="t", outcome=True)
    manager.start()
    wait_until(lambda: [each.status for each in manager.get_recent_deliveries()] == ["failed"])
    manager.stop()
    (delivery,) = manager.endpoints.deliveries(endpoint.id)
    assert (delivery.attempts, delivery.last_error, len(receiver.got)) == (4, "address refused", 1)
