-- Ids, digests, states and JSON are texts; instants are microseconds since the Unix epoch.

CREATE TABLE principals (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    admin_since INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    secret_sha256 TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- A decision ticket names one object, one version, one intent and one outcome with its reason.
CREATE TABLE tickets (
    id TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    secret_sha256 TEXT NOT NULL UNIQUE,
    object_id TEXT NOT NULL,
    object_version INTEGER NOT NULL,
    intent_sha256 TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    via TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE environments (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    slug TEXT NOT NULL,
    head_revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, slug)
) STRICT;

CREATE TABLE environment_revisions (
    environment_id TEXT NOT NULL REFERENCES environments (id),
    revision INTEGER NOT NULL,
    document TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (environment_id, revision)
) STRICT;

-- environment_id '' means the whole project.
CREATE TABLE grants (
    principal_id TEXT NOT NULL REFERENCES principals (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (principal_id, project_id, environment_id, role)
) STRICT;

CREATE TABLE scenarios (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    slug TEXT NOT NULL,
    head_digest TEXT NOT NULL,
    version INTEGER NOT NULL,
    archived_at INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, slug)
) STRICT;

CREATE TABLE scenario_revisions (
    scenario_id TEXT NOT NULL REFERENCES scenarios (id),
    digest TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    canonical TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scenario_id, digest)
) STRICT;

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    scenario_id TEXT NOT NULL REFERENCES scenarios (id),
    scenario_digest TEXT NOT NULL,
    environment_id TEXT NOT NULL REFERENCES environments (id),
    environment_revision INTEGER NOT NULL,
    base_url TEXT NOT NULL,
    line TEXT,
    baseline_revision INTEGER,
    baseline_environment TEXT,
    pins TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    state TEXT NOT NULL,
    verdict TEXT,
    version INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX runs_by_project ON runs (project_id, created_at);
CREATE INDEX runs_by_scenario ON runs (scenario_id, environment_id, state, finished_at);

-- The lease, the attempts and the job belong to a cell. At due_at the sweeper acts if nothing else has: a queued or
-- registering cell gets another job, a running one has lost its lease.
CREATE TABLE cells (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id),
    ordinal INTEGER NOT NULL,
    name TEXT NOT NULL,
    profile TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    claim_token TEXT,
    worker TEXT,
    due_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    register_tries INTEGER NOT NULL,
    submission TEXT,
    failed_assertions TEXT NOT NULL,
    failure TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (run_id, ordinal)
) STRICT;
CREATE INDEX cells_by_state ON cells (state, due_at);

CREATE TABLE cell_attempts (
    cell_id TEXT NOT NULL REFERENCES cells (id),
    attempt INTEGER NOT NULL,
    claim_token TEXT NOT NULL,
    worker TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT,
    failure TEXT,
    PRIMARY KEY (cell_id, attempt)
) STRICT;

CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    cell_id TEXT NOT NULL REFERENCES cells (id),
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    checkpoint TEXT,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    blake3 TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_by_run ON artifacts (run_id);

CREATE TABLE receipts (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    cell_id TEXT NOT NULL REFERENCES cells (id),
    attempt INTEGER NOT NULL,
    checkpoint TEXT NOT NULL,
    profile TEXT NOT NULL,
    picture_id TEXT NOT NULL REFERENCES artifacts (id),
    capture_sha256 TEXT NOT NULL,
    pixel_digest TEXT NOT NULL,
    render_sha256 TEXT NOT NULL,
    rules_sha256 TEXT NOT NULL,
    not_evidence TEXT NOT NULL,
    envelope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (cell_id, attempt, checkpoint)
) STRICT;
CREATE INDEX receipts_by_run ON receipts (run_id);

CREATE TABLE checkpoint_results (
    run_id TEXT NOT NULL REFERENCES runs (id),
    cell_id TEXT NOT NULL REFERENCES cells (id),
    ordinal INTEGER NOT NULL,
    checkpoint TEXT NOT NULL,
    profile TEXT NOT NULL,
    receipt_id TEXT NOT NULL REFERENCES receipts (id),
    verdict TEXT NOT NULL,
    baseline_receipt_id TEXT,
    comparison TEXT,
    difference_id TEXT,
    PRIMARY KEY (cell_id, checkpoint)
) STRICT;
CREATE INDEX checkpoint_results_by_run ON checkpoint_results (run_id, cell_id, ordinal);

CREATE TABLE run_results (
    run_id TEXT PRIMARY KEY REFERENCES runs (id),
    envelope TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE candidates (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL REFERENCES environments (id),
    line TEXT NOT NULL,
    key_path TEXT NOT NULL,
    baseline_key TEXT NOT NULL,
    receipt_id TEXT NOT NULL REFERENCES receipts (id),
    state TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE reviews (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    receipt_id TEXT NOT NULL REFERENCES receipts (id),
    disposition TEXT NOT NULL,
    reason TEXT NOT NULL,
    capture_sha256 TEXT NOT NULL,
    render_sha256 TEXT NOT NULL,
    rules_sha256 TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    via TEXT NOT NULL,
    envelope TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reviews_by_receipt ON reviews (receipt_id, created_at);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    line TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    intent TEXT NOT NULL,
    intent_sha256 TEXT NOT NULL,
    policy_revision INTEGER NOT NULL,
    requested_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    consumed_revision INTEGER
) STRICT;
CREATE INDEX approvals_by_project ON approvals (project_id, created_at);

CREATE TABLE approval_items (
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    ordinal INTEGER NOT NULL,
    candidate_id TEXT NOT NULL REFERENCES candidates (id),
    key_path TEXT NOT NULL,
    PRIMARY KEY (approval_id, ordinal)
) STRICT;
CREATE INDEX approval_items_by_candidate ON approval_items (candidate_id);

CREATE TABLE decisions (
    id TEXT PRIMARY KEY,
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    via TEXT NOT NULL,
    envelope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (approval_id, principal_id)
) STRICT;

CREATE TABLE catalog_lines (
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    head_revision INTEGER NOT NULL,
    head_sha256 TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT;

CREATE TABLE catalog_revisions (
    project_id TEXT NOT NULL REFERENCES projects (id),
    line TEXT NOT NULL,
    revision INTEGER NOT NULL,
    previous_sha256 TEXT,
    sha256 TEXT NOT NULL,
    manifest_sha256 TEXT NOT NULL,
    cause TEXT NOT NULL,
    envelope TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, line, revision)
) STRICT;

-- An entry stands in every revision from since_revision to before until_revision.
CREATE TABLE baseline_entries (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL REFERENCES environments (id),
    line TEXT NOT NULL,
    key_path TEXT NOT NULL,
    baseline_key TEXT NOT NULL,
    receipt_id TEXT NOT NULL REFERENCES receipts (id),
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    review_id TEXT,
    document TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    state TEXT NOT NULL,
    since_revision INTEGER NOT NULL,
    until_revision INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX baseline_entries_active ON baseline_entries (project_id, line, key_path) WHERE state = 'active';
CREATE INDEX baseline_entries_by_line ON baseline_entries (project_id, line, since_revision);

CREATE TABLE remotes (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    branches TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE publications (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    line TEXT NOT NULL,
    revision INTEGER NOT NULL,
    remote_id TEXT NOT NULL REFERENCES remotes (id),
    branch TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    claim_token TEXT,
    due_at INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    detail TEXT,
    receipt TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (project_id, line, revision, remote_id, branch)
) STRICT;
CREATE INDEX publications_by_state ON publications (state, due_at);

-- An attempt belongs to one expected head; the worker's own retries stay within it.
CREATE TABLE publication_attempts (
    publication_id TEXT NOT NULL REFERENCES publications (id),
    attempt INTEGER NOT NULL,
    expected_head TEXT NOT NULL,
    base_commit TEXT,
    commit_id TEXT,
    outcome TEXT,
    detail TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (publication_id, attempt)
) STRICT;

CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    principal_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    project_id TEXT,
    object_id TEXT,
    request_id TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    object_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    delivered_at INTEGER
) STRICT;
CREATE INDEX events_pending ON events (delivered_at, at);

CREATE TABLE idempotency_keys (
    principal_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    "key" TEXT NOT NULL,
    intent_sha256 TEXT NOT NULL,
    object_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (principal_id, operation, "key")
) STRICT;
