"""The adapter of `docs/guides/integrating.md` passes the contract of all adapters."""

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Played, Scene
from plain_agents import play


class TestPlainAgents(IntegrationContract):
    has_interrupts = False  # the small framework asks no person

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play(alma, scene)
