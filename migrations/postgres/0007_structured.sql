-- What a receipt is of: a picture, or values that were read from the page. picture_id then names the file of values.
ALTER TABLE receipts ADD COLUMN kind TEXT NOT NULL DEFAULT 'visual';
