-- The signature of an attempt's commit: with it the same commit is made again after the commit key was replaced.
ALTER TABLE publication_attempts ADD COLUMN commit_signature TEXT;
