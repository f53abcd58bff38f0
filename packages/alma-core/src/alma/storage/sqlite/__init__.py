"""SQLite: connections, locks, the file itself, full text by FTS5, migrations, compiled statements."""

from alma.storage.sqlite.database import check_engine as check_engine
