-- Titles for lists, approvals of other kinds than baselines, and candidates whose capture is still to come.

ALTER TABLE scenario_revisions ADD COLUMN title TEXT;
UPDATE scenario_revisions SET title = canonical::json ->> 'title';

ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'baseline';
ALTER TABLE approvals ADD COLUMN release_label TEXT;
UPDATE approvals SET release_label = intent::json ->> 'release_label';

-- An item says in which environment it is, so that authority needs no other table; only items that are to become
-- baselines have a candidate.
ALTER TABLE approval_items ALTER COLUMN candidate_id DROP NOT NULL;
ALTER TABLE approval_items ADD COLUMN environment_id TEXT REFERENCES environments (id);
UPDATE approval_items SET environment_id = c.environment_id FROM candidates AS c WHERE c.id = candidate_id;

-- A candidate is of one checkpoint of a run, and has a receipt when that was captured. replaces: the entry that it was
-- opened to replace, with the reason.
ALTER TABLE candidates ALTER COLUMN receipt_id DROP NOT NULL;
ALTER TABLE candidates ADD COLUMN run_id TEXT REFERENCES runs (id);
ALTER TABLE candidates ADD COLUMN replaces TEXT REFERENCES baseline_entries (id);
ALTER TABLE candidates ADD COLUMN reason TEXT;
UPDATE candidates SET run_id = r.run_id FROM receipts AS r WHERE r.id = receipt_id;
CREATE INDEX candidates_by_run ON candidates (run_id);

ALTER TABLE approval_items ALTER COLUMN environment_id SET NOT NULL;
ALTER TABLE candidates ALTER COLUMN run_id SET NOT NULL;
