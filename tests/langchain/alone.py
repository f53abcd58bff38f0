"""What alma-langchain can do with an extra, or with none: `python alone.py [agents|classic]`, in an environment with no more than that."""

import sys
import tempfile
from importlib.util import find_spec

FRAMEWORKS = {"agents": "langchain", "classic": "langchain_classic"}


def main(extra: str | None) -> None:
    import alma_langchain

    assert not [name for name in sys.modules if name.split(".")[0].startswith("lang")], "importing the package loads a framework"
    for name, framework in FRAMEWORKS.items():
        assert (find_spec(framework) is not None) == (name == extra), f"{framework} is installed, or is not"
    from alma import ALMA, MissingDependencyError
    from alma_langchain import ALMACallbackHandler, ALMAMemory, ALMARetriever, AsyncALMACallbackHandler, create_alma_tools

    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        memory = ALMAMemory(alma, agent="dev", evaluator=lambda run: True)
        base = {cls.__module__ for cls in type(memory).__mro__}
        assert ("langchain_classic.base_memory" in base) == (extra == "classic")
        ALMACallbackHandler(alma, agent="dev")
        AsyncALMACallbackHandler(alma, agent="dev")
        shown = memory.load_memory_variables({"input": "Deploy"})
        memory.save_context({"input": "Deploy", **shown}, {"output": "Done."})
        assert ALMARetriever(alma=alma, agent="dev").invoke("Deploy")
        assert len(create_alma_tools(alma, agent="dev")) == 5
        try:
            memory.as_middleware()
            missing = ""
        except MissingDependencyError as error:
            missing = str(error)
        assert ("alma-langchain[agents]" in missing) == (extra != "agents"), missing
    print(f"alma-langchain {alma_langchain.__version__} with {extra or 'no extra'}: as promised")


main(sys.argv[1] if len(sys.argv) > 1 else None)
