"""SQLite: tables, transactions, full text, migrations. Rows never leave this room."""
