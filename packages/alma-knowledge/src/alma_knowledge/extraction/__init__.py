"""Facts of conversations: preferences, knowledge, warnings and outcomes, by plain rules or by a language model that is held to its sources."""

from alma_knowledge.extraction.entities import DetectedEntity, detect_entities
from alma_knowledge.extraction.facts import ExtractedFact, ExtractionResult, FactExtractor, FactType
from alma_knowledge.extraction.learning import AutoLearner, add_auto_learning_to_alma, create_extractor
from alma_knowledge.extraction.model import LLMFactExtractor
from alma_knowledge.extraction.rules import RuleBasedExtractor

__all__ = [
    "AutoLearner",
    "DetectedEntity",
    "ExtractedFact",
    "ExtractionResult",
    "FactExtractor",
    "FactType",
    "LLMFactExtractor",
    "RuleBasedExtractor",
    "add_auto_learning_to_alma",
    "create_extractor",
    "detect_entities",
]
