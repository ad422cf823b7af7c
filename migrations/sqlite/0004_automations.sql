-- Schedules, webhooks and CI dispatches. A deleted one keeps its row, for the sake of its deliveries. A schedule that is
-- enabled has a next_at; secrets are sealed.
CREATE TABLE automations (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL REFERENCES projects (id),
    environment_id TEXT NOT NULL REFERENCES environments (id),
    title TEXT NOT NULL,
    selectors TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    cron TEXT,
    time_zone TEXT,
    next_at INTEGER,
    secrets TEXT,
    version INTEGER NOT NULL,
    runs_as TEXT NOT NULL REFERENCES principals (id),
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE INDEX automations_by_project ON automations (project_id, kind, id);
CREATE INDEX automations_due ON automations (next_at);

-- What an automation was told to do, and what came of it. The key makes a delivery happen once.
CREATE TABLE automation_deliveries (
    automation_id TEXT NOT NULL REFERENCES automations (id),
    delivery_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    run_id TEXT REFERENCES runs (id),
    refusal TEXT,
    missed INTEGER NOT NULL,
    labels TEXT NOT NULL,
    PRIMARY KEY (automation_id, delivery_key)
) STRICT;
CREATE INDEX automation_deliveries_by_time ON automation_deliveries (automation_id, at);
