"""The learning of ALMA: outcomes in, advice out. Values in, values out: no clock, no chance, no I/O."""

from alma_learning.actions import is_warned_of, name_same_action, words_of_code
from alma_learning.background import SENTENCES
from alma_learning.caches import forget_texts
from alma_learning.differences import differ, normalise
from alma_learning.estimate import ALIKE, interval
from alma_learning.forecasts import Bag, Foreseen, JudgedBag, doubt, forecast, surprise
from alma_learning.forks import hold_forks, multiply
from alma_learning.projection import Projection
from alma_learning.table import Found, Row, Side, Status, Table
from alma_learning.trials import Embedding, Needed, Question, Trial, Vectors

__all__ = [
    "ALIKE",
    "SENTENCES",
    "Bag",
    "Embedding",
    "Foreseen",
    "Found",
    "JudgedBag",
    "Needed",
    "Projection",
    "Question",
    "Row",
    "Side",
    "Status",
    "Table",
    "Trial",
    "Vectors",
    "differ",
    "doubt",
    "forecast",
    "forget_texts",
    "hold_forks",
    "interval",
    "is_warned_of",
    "multiply",
    "name_same_action",
    "normalise",
    "surprise",
    "words_of_code",
]
