-- What later looks at a branch have found of what was published there before: a row for each look that found otherwise
-- than the one before it. A publication without rows was never missed.
CREATE TABLE publication_observations (
    publication_id TEXT NOT NULL REFERENCES publications (id),
    number INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    head TEXT,
    on_branch INTEGER NOT NULL CHECK (on_branch IN (0, 1)),
    PRIMARY KEY (publication_id, number)
) STRICT;
