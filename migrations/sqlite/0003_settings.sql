-- Settings of environments, projects and remotes, and what was last tried out.

-- Patterns that an administrator has approved for one revision of an environment.
CREATE TABLE approved_host_patterns (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    revision INTEGER NOT NULL,
    pattern TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (environment_id, revision, pattern)
) STRICT;

-- sealed is NULL once the secret is deleted; the row stays, so that a version number never means two values.
CREATE TABLE environment_secrets (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    sealed TEXT,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (environment_id, name)
) STRICT;

CREATE TABLE baseline_policies (
    project_id TEXT NOT NULL REFERENCES projects (id),
    revision INTEGER NOT NULL,
    quorum INTEGER NOT NULL,
    two_persons TEXT NOT NULL,
    gate TEXT NOT NULL,
    lifetime_s INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, revision)
) STRICT;

-- source: 'configuration' for one of the server's own configuration, 'api' for one that an administrator has put.
ALTER TABLE remotes ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE remotes ADD COLUMN source TEXT NOT NULL DEFAULT 'configuration';

-- The last of each kind: 'storage', 'capture', 'publication'.
CREATE TABLE probes (
    kind TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT
) STRICT;
