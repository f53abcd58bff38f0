"""A store in readable files: one journal a project, projected at open into a private SQLite database."""
