"""Agents of LangChain pass the contract of all adapters, from LangChain's own events, in either colour."""

from pathlib import Path

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Played, Scene
from chain_scenes import play, play_interrupted


class TestInvoked(IntegrationContract):
    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play(alma, scene)

    def play_interrupted(self, folder: Path, scene: Scene) -> Played:
        play_interrupted(folder, scene)
        return Played()


class TestAwaited(IntegrationContract):
    has_interrupts = False  # the process that ends is the same

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play(alma, scene, is_async=True)
