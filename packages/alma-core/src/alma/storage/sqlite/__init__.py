"""SQLite: connections, locks, the file itself, full text by FTS5, migrations, compiled statements."""
