"""Sentences about nothing in particular: the mean of their vectors centres any embedder."""

from alma_learning.word_lists import read_sentences

SENTENCES: tuple[str, ...] = read_sentences("sentences")["background"]
"""In pairs that say the same in other words; those of different pairs have nothing in common."""
