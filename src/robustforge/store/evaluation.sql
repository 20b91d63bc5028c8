-- Runs of users' own models, each stored before its value is used. Since version 3.
-- A search is an experiment of the kind 'search'. Vectors are little-endian float64.

CREATE TABLE evaluation (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    part       TEXT NOT NULL,                     -- 'known' (prior runs), 'solve' or 'verify'
    number     INTEGER NOT NULL,                  -- in the order of the search
    x          BLOB NOT NULL,                     -- the point, scaled for the search
    value      REAL,                              -- value of the model, with the user's sign
    failure    TEXT,                              -- reason of a failure
    tail       TEXT,                              -- last output of a failed run
    seconds    REAL,
    PRIMARY KEY (experiment, part, number)
) WITHOUT ROWID;
