-- The store: what was run, and every single run. Version 3.
-- Reals are exact. NaN is stored as NULL, which is what SQLite makes of it.

CREATE TABLE experiment (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    kind     TEXT NOT NULL,                       -- 'evolution', 'search'
    settings TEXT NOT NULL,                       -- JSON: all that decides the outcome
    grammar  TEXT NOT NULL,                       -- JSON: the production rules, with their fingerprint
    champion TEXT REFERENCES heuristic (id),      -- NULL until the run has ended
    begun    TEXT NOT NULL,                       -- UTC
    ended    TEXT                                 -- UTC
);

CREATE TABLE heuristic (
    id   TEXT PRIMARY KEY,                        -- hash of its canonical JSON
    json TEXT NOT NULL
) WITHOUT ROWID;

-- Who was in a generation that is complete, best first. The final comparison is generation -1.
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
    problem     INTEGER NOT NULL,                 -- its place in the settings' list
    heuristic   TEXT NOT NULL REFERENCES heuristic (id),
    repeat      INTEGER NOT NULL,
    seed        INTEGER NOT NULL,                 -- as for `minimize` and `solve --seed`
    value       REAL,                             -- independent re-estimate at the returned point
    estimate    REAL,                             -- what the search itself took for the worst case
    nfev        INTEGER,
    work        INTEGER,                          -- distances computed by relocations
    relocations INTEGER,
    seconds     REAL,
    failure     TEXT,                             -- why there is no value
    PRIMARY KEY (experiment, generation, problem, heuristic, repeat)
) WITHOUT ROWID;
