"""Property tests are held to what they find, not to how long one example takes on a busy machine."""

from hypothesis import settings

settings.register_profile("alma", deadline=None)
settings.load_profile("alma")
