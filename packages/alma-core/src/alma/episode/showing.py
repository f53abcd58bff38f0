"""What an agent is shown of what was found for its task."""

from alma.types.slice import MemorySlice


def showing(found: MemorySlice, max_tokens: int) -> tuple[MemorySlice, str]:
    """The memories that have room in a prompt of so many tokens, and what the prompt says: `fitting` and `to_prompt`, made at once.

    An episode begun with these memories holds as shown what reached the prompt and nothing else.
    """
    notes = found.to_prompt(max_tokens)
    is_whole = all(f"\n[{item.tag}] " in notes for item in found.recalled)
    return found if is_whole else found.fitting(max_tokens), notes
