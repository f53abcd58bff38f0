"""ALMA for CrewAI: a crew's memory that recalls what helped and learns from the outcome of each task."""

from alma_crewai.listener import ALMACrewListener
from alma_crewai.memory import ALMALongTermMemory, ALMAMemory, attach_alma
from alma_crewai.storage import ALMAStorage
from alma_crewai.tools import ALMARecallTool, ALMARememberTool, alma_tools

__all__ = [
    "ALMACrewListener",
    "ALMALongTermMemory",
    "ALMAMemory",
    "ALMARecallTool",
    "ALMARememberTool",
    "ALMAStorage",
    "__version__",
    "alma_tools",
    "attach_alma",
]

__version__ = "0.1.0"
