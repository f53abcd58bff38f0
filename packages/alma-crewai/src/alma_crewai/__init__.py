"""ALMA for CrewAI. The adapter is not built yet; only the version is promised."""

__all__ = ["__version__"]

__version__ = "0.1.0"
