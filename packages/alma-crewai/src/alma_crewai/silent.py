"""What stands where CrewAI's memory expects an LLM: nothing that could be called."""

from typing import Any


class SilentModel:
    """Answers that there is nothing to remember, and to everything else that there is no model; CrewAI then goes on without."""

    model = "none"

    def supports_function_calling(self) -> bool:
        """Whether an answer in a given shape can be asked for."""
        return True

    def call(self, messages: object, *, response_model: Any = None, **_: object) -> Any:
        """Nothing to remember, if that is asked."""
        if response_model is not None and set(response_model.model_fields) == {"memories"}:
            return response_model(memories=[])
        raise RuntimeError("ALMA's memory has no model to ask")
