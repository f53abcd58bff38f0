"""A store in readable files: one journal a project, projected at open into a private SQLite database."""

from alma_files.store import FileStorage, open_files

__all__ = ["FileStorage", "open_files"]
