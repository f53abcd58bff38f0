"""Calls of a service beside the store."""

import threading

import pytest

from alma.errors import StorageError
from alma_integration.services import Service, calls_service


class Client:
    """Stands for a search in a database, whose client fails."""

    def __init__(self, error: Exception) -> None:
        self.service = Service("Example", "http://localhost:1", advice="is the key right?", secret="tr0ub4dor")
        self._error = error

    @calls_service
    def ask(self, number: int) -> int:
        if number < 0:
            raise self._error
        return number

    @calls_service
    def nested(self) -> int:
        return self.ask(7)


def test_an_error_of_the_client_names_the_service_and_hides_the_secret() -> None:
    cause = ConnectionError("refused tr0ub4dor " + "x" * 1_000)

    with pytest.raises(StorageError) as caught:
        Client(cause).ask(-1)

    message = str(caught.value)
    assert message.startswith("Example at http://localhost:1: refused … x")
    assert message.endswith("; is the key right?")
    assert len(message) < 400
    assert caught.value.__cause__ is cause


def test_an_error_of_alma_stays_as_it_is() -> None:
    error = StorageError("the index is too narrow")

    with pytest.raises(StorageError) as caught:
        Client(error).ask(-1)

    assert caught.value is error


def test_one_thread_at_a_time_calls_the_service_and_may_call_it_again() -> None:
    client, entered = Client(ValueError()), threading.Event()
    assert client.nested() == 7

    def ask() -> None:
        client.ask(1)
        entered.set()

    with client.service.lock:
        thread = threading.Thread(target=ask)
        thread.start()
        assert not entered.wait(0.05)
    thread.join()
    assert entered.is_set()
