-- Runs of users' own models, each stored before its value is used. Since version 3.
-- A search is an experiment of the kind 'search'. Vectors are little-endian float64.

CREATE TABLE evaluation (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    part       TEXT NOT NULL,                     -- 'known' before the search, 'solve', or 'verify'
    number     INTEGER NOT NULL,                  -- in the order in which they were asked for
    x          BLOB NOT NULL,                     -- the point, as the search sees it
    value      REAL,                              -- what the model says, in the user's own sense
    failure    TEXT,                              -- why there is no value
    tail       TEXT,                              -- the last of what a failed run printed
    seconds    REAL,
    PRIMARY KEY (experiment, part, number)
) WITHOUT ROWID;
