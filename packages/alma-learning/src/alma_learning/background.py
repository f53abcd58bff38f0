"""A fixed background to compare texts with: what an embedder makes of plain sentences of unrelated fields.

Vectors of texts of one field and language lie close together, so that their cosines say little before what they have in common is taken away. The
mean of a store cannot be taken for that: of a store with one kind of task it is the kind itself. The nearest few of the fixed sentences can.
"""

import numpy as np

from alma_learning.trials import Matrix, Vector, Vectors

SENTENCES: tuple[str, ...] = (
    "The train to the coast leaves at seven in the morning.",
    "She planted tomatoes and beans behind the house.",
    "The museum shows paintings from the seventeenth century.",
    "He broke his arm while skiing last winter.",
    "Boil the pasta for nine minutes and drain it.",
    "The team won the final after extra time.",
    "Book a table for four at the Italian restaurant.",
    "The court postponed the hearing until March.",
    "Bees collect nectar from flowers in summer.",
    "Calculate the interest on a loan over ten years.",
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
    "Install the washing machine next to the sink.",
    "Der Zug nach Hamburg hat eine halbe Stunde Verspätung.",
    "Bitte prüfen Sie die Rechnung des Handwerkers.",
    "Im Garten blühen die ersten Rosen.",
    "Die Mannschaft trainiert jeden Dienstag.",
    "Schreibe eine kurze Rede für die Hochzeit.",
    "Der Arzt verschreibt ein Mittel gegen Husten.",
    "Die Kundin möchte ihre Bestellung ändern.",
    "Der Server ist seit heute Morgen nicht erreichbar.",
    "Fasse den Vertrag in drei Sätzen zusammen.",
    "Das Museum bleibt am Montag geschlossen.",
    "Koche die Kartoffeln zwanzig Minuten.",
    "Die Preise für Strom steigen im Herbst.",
    "El médico recomienda caminar media hora al día.",
    "Queremos reservar una mesa para esta noche.",
    "La empresa busca un nuevo proveedor de papel.",
    "Los niños juegan al fútbol en la plaza.",
    "El tren a Sevilla sale con retraso.",
    "Escribe una carta de agradecimiento a la profesora.",
    "El servidor no responde desde ayer.",
    "La clienta quiere devolver el abrigo.",
    "Hierve el arroz quince minutos.",
    "El tribunal aplazó la vista hasta mayo.",
    "Resume el informe en tres frases.",
    "En primavera florecen los almendros.",
    "Le musée est fermé le lundi.",
    "Il faut réparer le toit avant l'hiver.",
    "La recette demande trois œufs et du beurre.",
    "Le train pour Lyon part à midi.",
    "Écris un discours pour l'anniversaire de mon père.",
    "Le client demande un remboursement.",
    "Le médecin conseille de boire beaucoup d'eau.",
    "Résume la réunion en quelques lignes.",
    "Le serveur ne répond plus depuis hier.",
    "Les enfants jouent dans le parc.",
    "Il treno per Milano parte dal binario quattro.",
    "O relatório deve ser entregue na sexta-feira.",
    "De fietsenmaker repareert de band.",
    "Pociąg odjeżdża za dziesięć minut.",
    "Поезд опаздывает на двадцать минут.",
    "会议推迟到下周三。",
)
"""Changing one changes kinds and ways."""

NEAREST = 12
"""Sentences that are taken for the background of a store: enough of them are of its language. Development and tuning worlds: 8 to 16 are alike."""


class Background:
    """The vectors of `SENTENCES`."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors: Matrix = np.asarray(vectors(SENTENCES), np.float32)

    def near(self, texts: Matrix) -> Vector:
        """Returns the mean of the sentences that are nearest to n texts on average, (d,)."""
        if not len(texts):
            return np.zeros(self.vectors.shape[1], np.float32)
        nearest = np.argsort(-(self.vectors @ texts.mean(axis=0)), kind="stable")[:NEAREST]
        mean: Vector = self.vectors[nearest].mean(axis=0)
        return mean


def scale(vectors: Matrix) -> Matrix:
    """Returns vectors of length 1 of the same directions."""
    scaled: Matrix = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return scaled
