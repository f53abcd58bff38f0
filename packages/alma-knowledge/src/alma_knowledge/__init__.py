"""What an agent knows, put in order: facts and preferences that contradict each other, and which of them is preferred."""

from alma_knowledge.conflicts import Conflict as Conflict
from alma_knowledge.conflicts import conflict as conflict
from alma_knowledge.contradictions import find_contradictions as find_contradictions
