-- Titles for lists, approvals of other kinds than baselines, and candidates whose capture is still to come.

ALTER TABLE scenario_revisions ADD COLUMN title TEXT;
UPDATE scenario_revisions SET title = json_extract(canonical, '$.title');

ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'baseline';
ALTER TABLE approvals ADD COLUMN release_label TEXT;
UPDATE approvals SET release_label = json_extract(intent, '$.release_label');

-- An item says in which environment it is, so that authority needs no other table; only items that are to become
-- baselines have a candidate.
CREATE TABLE kept_items (
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    ordinal INTEGER NOT NULL,
    candidate_id TEXT,
    key_path TEXT NOT NULL,
    environment_id TEXT NOT NULL REFERENCES environments (id),
    PRIMARY KEY (approval_id, ordinal)
) STRICT;
INSERT INTO kept_items (approval_id, ordinal, candidate_id, key_path, environment_id)
    SELECT i.approval_id, i.ordinal, i.candidate_id, i.key_path, c.environment_id
    FROM approval_items AS i JOIN candidates AS c ON c.id = i.candidate_id;
DROP TABLE approval_items;

-- A candidate is of one checkpoint of a run, and has a receipt when that was captured. replaces: the entry that it was
-- opened to replace, with the reason.
CREATE TABLE new_candidates (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL REFERENCES environments (id),
    line TEXT NOT NULL,
    key_path TEXT NOT NULL,
    baseline_key TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (id),
    receipt_id TEXT REFERENCES receipts (id),
    replaces TEXT REFERENCES baseline_entries (id),
    reason TEXT,
    state TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO new_candidates (id, project_id, environment_id, line, key_path, baseline_key, run_id, receipt_id, state,
    author, created_at)
    SELECT c.id, c.project_id, c.environment_id, c.line, c.key_path, c.baseline_key, r.run_id, c.receipt_id, c.state,
    c.author, c.created_at FROM candidates AS c JOIN receipts AS r ON r.id = c.receipt_id;
DROP TABLE candidates;
ALTER TABLE new_candidates RENAME TO candidates;
CREATE INDEX candidates_by_run ON candidates (run_id);

CREATE TABLE approval_items (
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    ordinal INTEGER NOT NULL,
    candidate_id TEXT REFERENCES candidates (id),
    key_path TEXT NOT NULL,
    environment_id TEXT NOT NULL REFERENCES environments (id),
    PRIMARY KEY (approval_id, ordinal)
) STRICT;
INSERT INTO approval_items SELECT * FROM kept_items;
DROP TABLE kept_items;
CREATE INDEX approval_items_by_candidate ON approval_items (candidate_id);
