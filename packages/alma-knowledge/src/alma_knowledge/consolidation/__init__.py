"""Consolidation: stated memories that say the same become one; what speaks against it keeps them apart."""

from alma_knowledge.consolidation.engine import ConsolidationEngine as ConsolidationEngine
from alma_knowledge.consolidation.results import Apart as Apart
from alma_knowledge.consolidation.results import ConsolidationError as ConsolidationError
from alma_knowledge.consolidation.results import ConsolidationResult as ConsolidationResult
from alma_knowledge.consolidation.results import Merge as Merge
