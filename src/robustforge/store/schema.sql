-- The store: experiments, and every single run. Version 3.
-- Floats are exact. SQLite stores NaN as NULL.

CREATE TABLE experiment (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    kind     TEXT NOT NULL,                       -- 'evolution', 'search'
    settings TEXT NOT NULL,                       -- JSON: everything that determines the result
    grammar  TEXT NOT NULL,                       -- JSON: the production rules, with their fingerprint
    champion TEXT REFERENCES heuristic (id),      -- NULL until the evolution has finished
    begun    TEXT NOT NULL,                       -- start time, UTC
    ended    TEXT                                 -- UTC
);

CREATE TABLE heuristic (
    id   TEXT PRIMARY KEY,                        -- hash of its canonical JSON
    json TEXT NOT NULL
) WITHOUT ROWID;

-- The ranking of each complete generation. The final comparison is generation -1.
CREATE TABLE member (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    generation INTEGER NOT NULL,
    standing   INTEGER NOT NULL,                  -- 0 is the best
    heuristic  TEXT NOT NULL REFERENCES heuristic (id),
    PRIMARY KEY (experiment, generation, standing)
) WITHOUT ROWID;

CREATE TABLE run (
    experiment  INTEGER NOT NULL REFERENCES experiment (id),
    generation  INTEGER NOT NULL,                 -- -1: the final comparison
    problem     INTEGER NOT NULL,                 -- its index in the settings' list
    heuristic   TEXT NOT NULL REFERENCES heuristic (id),
    repeat      INTEGER NOT NULL,
    seed        INTEGER NOT NULL,                 -- as for `minimize` and `solve --seed`
    value       REAL,                             -- independent re-estimate at the recommended design
    estimate    REAL,                             -- the search's own estimate of the worst case
    nfev        INTEGER,
    work        INTEGER,                          -- distances computed by relocations
    relocations INTEGER,
    seconds     REAL,
    failure     TEXT,                             -- reason of a failure
    PRIMARY KEY (experiment, generation, problem, heuristic, repeat)
) WITHOUT ROWID;
