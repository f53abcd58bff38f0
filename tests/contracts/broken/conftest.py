"""What fails here shall fail soon: no example is made smaller."""

from hypothesis import Phase, settings

settings.register_profile("broken", phases=(Phase.explicit, Phase.generate))
settings.load_profile("broken")
