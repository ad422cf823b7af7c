-- The transparency log: what is to be a leaf of it, the tree over the leaves, and what publications show of it.

-- One row for each record that belongs into the log, written in the record's own transaction. The sequencer gives it its
-- leaf; until then leaf is NULL. sha256 is NULL for records that are older than the log, until they get theirs.
CREATE TABLE log_entries (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind TEXT NOT NULL,
    record_id TEXT NOT NULL,
    sha256 TEXT,
    leaf BIGINT,
    UNIQUE (kind, record_id)
);
CREATE UNIQUE INDEX log_entries_by_leaf ON log_entries (leaf);
CREATE INDEX log_entries_pending ON log_entries (seq) WHERE leaf IS NULL;

-- Hashes of the tree, 256 of one level in a tile, the last tile of a level perhaps with fewer; base64.
CREATE TABLE log_tiles (
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hashes TEXT NOT NULL,
    PRIMARY KEY (level, number)
);

-- The one log: id is 1. The tree may be ahead of the checkpoint, never behind it.
CREATE TABLE log_state (
    id BIGINT PRIMARY KEY,
    origin TEXT NOT NULL,
    size BIGINT NOT NULL,
    root TEXT NOT NULL,
    checkpoint_size BIGINT,
    checkpoint TEXT
);

-- The files below log/ that an attempt of a publication adds to its branch, fixed before its commit is made.
CREATE TABLE publication_log_files (
    publication_id TEXT NOT NULL REFERENCES publications (id),
    attempt BIGINT NOT NULL,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (publication_id, attempt, path)
);

CREATE INDEX catalog_revisions_by_digest ON catalog_revisions (sha256);

INSERT INTO log_entries (kind, record_id) SELECT 'capture_receipt', id FROM receipts ORDER BY created_at, id;
INSERT INTO log_entries (kind, record_id) SELECT 'run_result', run_id FROM run_results ORDER BY created_at, run_id;
INSERT INTO log_entries (kind, record_id) SELECT 'review', id FROM reviews ORDER BY created_at, id;
INSERT INTO log_entries (kind, record_id) SELECT 'decision', id FROM decisions ORDER BY created_at, id;
INSERT INTO log_entries (kind, record_id)
SELECT 'catalog_revision', project_id || '/' || line || '/' || revision FROM catalog_revisions
ORDER BY created_at, project_id, line, revision;
INSERT INTO log_entries (kind, record_id)
SELECT 'publication_receipt', id FROM publications WHERE receipt IS NOT NULL ORDER BY finished_at, id;
INSERT INTO log_entries (kind, record_id) SELECT 'audit', id FROM audit ORDER BY at, id;
