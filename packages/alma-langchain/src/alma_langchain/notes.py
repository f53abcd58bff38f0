"""Values that memory puts into a chain's inputs: a text or documents that know the run that they were retrieved for."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from alma_langchain.attempt import Attempt


class Notes(str):
    """What a prompt says of the memories, and the attempt at whose task they were retrieved."""

    alma_attempt: Attempt | None
    """`None` if memory could not be read, so that the run has none."""

    @classmethod
    def of(cls, text: str, attempt: Attempt | None) -> "Notes":
        """The text with its attempt."""
        notes = cls(text)
        notes.alma_attempt = attempt
        return notes

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # elsewhere it is a text


class NotedDocuments(list[Document]):
    """The memories as documents, and the attempt at whose task they were retrieved."""

    def __init__(self, documents: Sequence[Document], attempt: Attempt | None) -> None:
        super().__init__(documents)
        self.alma_attempt = attempt

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)
