"""ALMA for CrewAI: a crew's memory that recalls what helped and learns from how each task went."""

from alma_crewai.attach import attach_alma
from alma_crewai.listener import ALMACrewListener
from alma_crewai.memory import ALMALongTermMemory, ALMAMemory
from alma_crewai.storage import ALMAStorage
from alma_crewai.tools import ALMARecallTool, ALMARememberTool

__all__ = [
    "ALMACrewListener",
    "ALMALongTermMemory",
    "ALMAMemory",
    "ALMARecallTool",
    "ALMARememberTool",
    "ALMAStorage",
    "__version__",
    "attach_alma",
]

__version__ = "0.1.0"
