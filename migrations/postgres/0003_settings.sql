-- Settings of environments, projects and remotes, and what was last tried out.

-- Patterns that an administrator has approved for one revision of an environment.
CREATE TABLE approved_host_patterns (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    revision BIGINT NOT NULL,
    pattern TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (environment_id, revision, pattern)
);

-- sealed is NULL once the secret is deleted; the row stays, so that a version number never means two values.
CREATE TABLE environment_secrets (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    sealed TEXT,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (environment_id, name)
);

CREATE TABLE baseline_policies (
    project_id TEXT NOT NULL REFERENCES projects (id),
    revision BIGINT NOT NULL,
    quorum BIGINT NOT NULL,
    two_persons TEXT NOT NULL,
    gate TEXT NOT NULL,
    lifetime_s BIGINT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, revision)
);

-- source: 'configuration' for one of the server's own configuration, 'api' for one that an administrator has put.
ALTER TABLE remotes ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE remotes ADD COLUMN source TEXT NOT NULL DEFAULT 'configuration';

-- The last of each kind: 'storage', 'capture', 'publication'.
CREATE TABLE probes (
    kind TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT
);
