CREATE TABLE store (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE migration (name TEXT NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT;
CREATE TABLE partition (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, is_user INTEGER NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL,
    UNIQUE (project, is_user, owner, kind)
) STRICT;
CREATE TABLE vector (
    row INTEGER PRIMARY KEY, project INTEGER NOT NULL, text_hash BLOB NOT NULL, embedder INTEGER NOT NULL, vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (project, text_hash, embedder)
) STRICT;
CREATE TABLE usage (
    memory INTEGER PRIMARY KEY, used INTEGER NOT NULL, ignored INTEGER NOT NULL, thumbs_up INTEGER NOT NULL, thumbs_down INTEGER NOT NULL,
    credited_successes REAL NOT NULL, credited_trials REAL NOT NULL
) STRICT;
CREATE TABLE record (
    project INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,
    updated_at INTEGER NOT NULL, PRIMARY KEY (project, kind, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
    place INTEGER PRIMARY KEY, project INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL,
    operation TEXT NOT NULL, payload BLOB, salt BLOB, digest BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE TABLE touched (
    project INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (project, key, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, passage INTEGER NOT NULL, PRIMARY KEY (project, seq, passage)
) STRICT, WITHOUT ROWID;
CREATE TABLE project (
    row INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL,
    learned_seq INTEGER NOT NULL) STRICT;
CREATE TABLE "memory" (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, id TEXT NOT NULL, partition INTEGER NOT NULL, agent TEXT NOT NULL,
    body BLOB NOT NULL, confidence REAL NOT NULL, successes REAL, trials REAL, seen_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, archived_at INTEGER, content_hash BLOB NOT NULL, seq INTEGER NOT NULL,
    UNIQUE (project, id)
) STRICT;
CREATE TABLE "passage" (
    row INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, memory INTEGER NOT NULL, position INTEGER NOT NULL, speaker BLOB NOT NULL,
    time INTEGER, is_own INTEGER NOT NULL, text BLOB NOT NULL, keywords BLOB NOT NULL, text_hash BLOB, is_live INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (memory, position)
) STRICT;
CREATE INDEX passage_seq ON passage (project, seq);
CREATE INDEX memory_partition ON memory (partition)
