-- The user who answers for a service. Where two persons are asked for, what the service asked or proposed counts as theirs.
ALTER TABLE principals ADD COLUMN owner_id TEXT REFERENCES principals (id);
