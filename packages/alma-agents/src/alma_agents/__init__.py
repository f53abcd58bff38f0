"""ALMA for coding agents: hooks, learning from exit statuses, past transcripts. Importing it loads nothing heavy."""

__version__ = "0.1.0"
