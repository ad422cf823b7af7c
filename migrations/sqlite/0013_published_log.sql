-- The attempt whose files below log/ a branch holds. After an upstream rewrite no attempt has the commit's id, so that it
-- is kept and not looked for by commits.
ALTER TABLE publications ADD COLUMN log_attempt INTEGER;
UPDATE publications SET log_attempt = (
    SELECT min(made.attempt) FROM publication_attempts AS made
    JOIN publication_attempts AS newest
        ON newest.publication_id = made.publication_id AND newest.commit_id = made.commit_id
    WHERE made.publication_id = publications.id AND newest.attempt = publications.attempt
) WHERE state = 'published';

-- The newest entry of a key, and how a key stood in a revision, without looking through the whole line.
CREATE INDEX baseline_entries_by_key ON baseline_entries (project_id, line, key_path, since_revision);
