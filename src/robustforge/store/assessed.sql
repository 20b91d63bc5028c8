-- Runs of heuristics and other optimisers, with the worst case of each recommended design. Since version 2.
-- Vectors are little-endian float64.

CREATE TABLE assessed (
    contestant TEXT NOT NULL,                     -- a heuristic's id, or the name of another optimiser
    problem    TEXT NOT NULL,                     -- JSON: all of it but the objective
    budget     INTEGER NOT NULL,
    samples    INTEGER NOT NULL,
    attack     INTEGER NOT NULL,                  -- whether the design was attacked
    seed       INTEGER NOT NULL,                  -- as for `minimize` and `solve --seed`
    name       TEXT NOT NULL,                     -- the contestant's name in the call
    repeat     INTEGER NOT NULL,
    value      REAL,                              -- sampled worst case
    attacked   REAL,                              -- attacked worst case
    nominal    REAL,                              -- f of the design itself
    nfev       INTEGER,
    curve      BLOB NOT NULL,                     -- at each checkpoint, the worst of samples / 100 points
    x          BLOB NOT NULL,                     -- the design
    seconds    REAL,
    failure    TEXT,                              -- reason of a failure
    PRIMARY KEY (contestant, problem, budget, samples, attack, seed)
) WITHOUT ROWID;
