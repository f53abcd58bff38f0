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
    "Rename the variable and run the tests again.",
    "The database query takes too long.",
    "Restore the files from last night's copy.",
    "Write a script that reads a table of numbers.",
    "The page loads slowly on old phones.",
    "Update the library to the newest version.",
    "Review the changes of a colleague before they are merged.",
    "The build fails on one machine only.",
    "Add a button that exports the list.",
    "Explain what this class does.",
    "The password of the account has expired.",
    "Move the website to another provider.",
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
    "Lekarz zaleca codzienny spacer.",
    "Muzeum jest zamknięte w poniedziałki.",
    "Klientka chce zwrócić płaszcz.",
    "Gotuj ryż przez piętnaście minut.",
    "Serwer nie odpowiada od wczoraj.",
    "Napisz krótkie przemówienie na wesele.",
    "Dzieci grają w piłkę na placu.",
    "Podsumuj sprawozdanie w trzech zdaniach.",
    "Chcemy zarezerwować stolik na wieczór.",
    "Il medico consiglia di camminare ogni giorno.",
    "Il museo è chiuso il lunedì.",
    "La cliente vuole restituire il cappotto.",
    "Cuoci il riso per quindici minuti.",
    "Il server non risponde da ieri.",
    "Scrivi un breve discorso per il matrimonio.",
    "I bambini giocano a calcio in piazza.",
    "Riassumi la relazione in tre frasi.",
    "O médico recomenda caminhar todos os dias.",
    "O museu está fechado às segundas-feiras.",
    "A cliente quer devolver o casaco.",
    "Cozinhe o arroz durante quinze minutos.",
    "O servidor não responde desde ontem.",
    "Escreva um breve discurso para o casamento.",
    "As crianças jogam bola na praça.",
    "Queremos reservar uma mesa para esta noite.",
    "De dokter raadt aan elke dag te wandelen.",
    "Het museum is op maandag gesloten.",
    "De klant wil haar jas terugbrengen.",
    "Kook de rijst een kwartier.",
    "De server reageert sinds gisteren niet.",
    "Schrijf een korte toespraak voor de bruiloft.",
    "De kinderen voetballen op het plein.",
    "Vat het verslag samen in drie zinnen.",
    "Il treno per Milano parte dal binario quattro.",
    "O relatório deve ser entregue na sexta-feira.",
    "De fietsenmaker repareert de band.",
    "Pociąg odjeżdża za dziesięć minut.",
    "Поезд опаздывает на двадцать минут.",
    "会议推迟到下周三。",
)
"""Changing one changes kinds and ways."""

NEAREST = 16
"""Sentences that are taken for the background of a store: about as many as there are of its language or field. A language without sentences here has
all its tasks in one kind."""


class Background:
    """The vectors of `SENTENCES`."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors: Matrix = np.asarray(vectors(SENTENCES), np.float32)

    def near(self, texts: Matrix) -> Vector:
        """Returns the mean of the sentences that are nearest to n texts on average, (d,)."""
        if not len(texts):
            return np.zeros(self.vectors.shape[1], np.float32)
        nearest = np.argsort(-np.vecdot(self.vectors, texts.mean(axis=0)), kind="stable")[:NEAREST]
        mean: Vector = self.vectors[nearest].mean(axis=0)
        return mean


def scale(vectors: Matrix) -> Matrix:
    """Returns vectors of length 1 of the same directions."""
    scaled: Matrix = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return scaled
