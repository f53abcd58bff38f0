"""Code that every SQL store shares: tables, statements, rows, writing, the journal, evidence, export, verification."""
