-- Browser sessions, passwords, groups, and what a grant may be given to.

ALTER TABLE principals ADD COLUMN disabled_at INTEGER;

ALTER TABLE tokens ADD COLUMN label TEXT;
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
CREATE INDEX tokens_by_principal ON tokens (principal_id, created_at);

CREATE TABLE passwords (
    principal_id TEXT PRIMARY KEY REFERENCES principals (id),
    hash TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

-- Who a provider of identities says somebody is; never an e-mail.
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT;

-- A session ends at expires_at whatever happens, and earlier when it is not used.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    secret_sha256 TEXT NOT NULL UNIQUE,
    method TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    reauthenticated_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX sessions_by_principal ON sessions (principal_id, created_at);

-- A link that signs its user in once.
CREATE TABLE sign_in_links (
    secret_sha256 TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

-- A sign-in that was begun at a provider of identities and may be ended once. session_id: re-authentication of it.
CREATE TABLE oidc_flows (
    state_sha256 TEXT PRIMARY KEY,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    session_id TEXT,
    return_to TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

-- Failed sign-ins of one name since the window began; a success clears them.
CREATE TABLE sign_in_failures (
    name TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    window_began_at INTEGER NOT NULL
) STRICT;

CREATE TABLE groups (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE group_members (
    group_id TEXT NOT NULL REFERENCES groups (id),
    principal_id TEXT NOT NULL REFERENCES principals (id),
    PRIMARY KEY (group_id, principal_id)
) STRICT;
CREATE INDEX group_members_by_principal ON group_members (principal_id);

-- subject_id names a principal or a group; environment_id '' means the whole project.
CREATE TABLE subject_grants (
    project_id TEXT NOT NULL REFERENCES projects (id),
    subject_id TEXT NOT NULL,
    environment_id TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, subject_id, environment_id, role)
) STRICT;
INSERT INTO subject_grants (project_id, subject_id, environment_id, role, created_at)
    SELECT project_id, principal_id, environment_id, role, created_at FROM grants;
DROP TABLE grants;
ALTER TABLE subject_grants RENAME TO grants;
CREATE INDEX grants_by_subject ON grants (subject_id, project_id);

-- Ids are ordered by time, so that the log is read newest first without sorting.
CREATE INDEX audit_by_project ON audit (project_id, id);
CREATE INDEX audit_by_principal ON audit (principal_id, id);
CREATE INDEX audit_by_object ON audit (object_id, id);
