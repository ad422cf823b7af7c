-- A queue counts its cases that wait and that somebody works on; both change with the cases and with nothing else.
CREATE TABLE investigation_queues (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    name TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (environment_id, name)
) STRICT;

CREATE TABLE cases (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL REFERENCES environments (id),
    queue TEXT NOT NULL,
    signature_sha256 TEXT NOT NULL,
    summary TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    claimed_by TEXT,
    disposition TEXT,
    duplicate_of TEXT REFERENCES cases (id),
    reason TEXT,
    disposed_by TEXT,
    opened_by TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX cases_undisposed ON cases (environment_id, signature_sha256) WHERE state <> 'disposed';
CREATE INDEX cases_by_project ON cases (project_id, state, id);

-- One failure with the signature of its case.
CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    case_id TEXT NOT NULL REFERENCES cases (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    added_by TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    UNIQUE (case_id, run_id)
) STRICT;

CREATE TABLE findings (
    id TEXT PRIMARY KEY,
    case_id TEXT NOT NULL REFERENCES cases (id),
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX findings_by_case ON findings (case_id, id);
