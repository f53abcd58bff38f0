"""A fixed background to compare texts with: what an embedder makes of unrelated sentences."""

import numpy as np

from alma_learning.trials import Floats, Matrix, Vectors

SENTENCES: tuple[str, ...] = (
    "The train to the coast leaves at seven in the morning.",
    "She planted tomatoes and beans behind the house.",
    "Our choir rehearses every Thursday evening.",
    "The museum shows paintings from the seventeenth century.",
    "He broke his arm while skiing last winter.",
    "Boil the pasta for nine minutes and drain it.",
    "The river flooded the lower part of the town.",
    "Write a birthday card for my grandmother.",
    "The team won the final after extra time.",
    "Volcanoes release gases from deep inside the earth.",
    "Book a table for four at the Italian restaurant.",
    "The court postponed the hearing until March.",
    "Translate this letter into French.",
    "Bees collect nectar from flowers in summer.",
    "Calculate the interest on a loan over ten years.",
    "The new law limits the rent of small flats.",
    "Recommend a novel about the sea.",
    "The patient complained of headaches and fever.",
    "Plan a walk through the old town with children.",
    "Fix the bug in the function that parses dates.",
    "The server does not answer after the update.",
    "Summarise the meeting and list the open questions.",
    "A customer wants her money back.",
    "Prices of copper rose again this week.",
    "Clean the data and draw a chart of the sales.",
    "Write an email that invites partners to the fair.",
    "Prepare the pupils for the examination in physics.",
    "The robot lifts boxes onto the shelf.",
    "Check whether the invoice has been paid.",
    "Paint the wall in a warm colour.",
    "Install the washing machine next to the sink.",
    "The orchestra tunes its instruments.",
    "Der Zug nach Hamburg hat eine halbe Stunde Verspätung.",
    "Bitte prüfen Sie die Rechnung des Handwerkers.",
    "Im Garten blühen die ersten Rosen.",
    "Die Mannschaft trainiert jeden Dienstag.",
    "Schreibe eine kurze Rede für die Hochzeit.",
    "El médico recomienda caminar media hora al día.",
    "Queremos reservar una mesa para esta noche.",
    "La empresa busca un nuevo proveedor de papel.",
    "Los niños juegan al fútbol en la plaza.",
    "Le musée est fermé le lundi.",
    "Il faut réparer le toit avant l'hiver.",
    "La recette demande trois œufs et du beurre.",
    "Il treno per Milano parte dal binario quattro.",
    "O relatório deve ser entregue na sexta-feira.",
    "De fietsenmaker repareert de band.",
    "Pociąg odjeżdża za dziesięć minut.",
)
"""Plain sentences of unrelated fields in several languages. They are part of what is learned: changing one changes kinds and ways."""


class Background:
    """The vectors of `SENTENCES`, made when they are first needed, and their mean."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors: Matrix = np.asarray(vectors(SENTENCES), np.float32)
        self.mean: Floats = self.vectors.mean(axis=0).astype(np.float64)


def scale(vectors: Matrix) -> Matrix:
    """Returns vectors of length 1 of the same directions."""
    scaled: Matrix = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return scaled
