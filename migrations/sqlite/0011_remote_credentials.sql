-- How remotes are reached, and where an attempt of a publication was asked to go.

-- As `ssh-keygen -l` shows it.
ALTER TABLE remotes ADD COLUMN host_key TEXT;
-- PEM, instead of the certificates of the system.
ALTER TABLE remotes ADD COLUMN certificate_authorities TEXT;
-- All four are NULL without a credential. Sealed for the remote, the version at which it was given, and the server.
ALTER TABLE remotes ADD COLUMN credential TEXT;
ALTER TABLE remotes ADD COLUMN credential_facts TEXT;
ALTER TABLE remotes ADD COLUMN credential_version INTEGER;
ALTER TABLE remotes ADD COLUMN credential_set_at INTEGER;

-- NULL for attempts from before this column.
ALTER TABLE publication_attempts ADD COLUMN remote_url TEXT;
