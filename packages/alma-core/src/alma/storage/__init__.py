"""SQL stores: what they share, in `relational`, and SQLite. Rows never leave this room."""
