-- Logs that an operator has given up because their database was lost: checkpoints of these names hold nobody back.
CREATE TABLE ended_logs (
    origin TEXT NOT NULL PRIMARY KEY,
    ended_at INTEGER NOT NULL
) STRICT;
