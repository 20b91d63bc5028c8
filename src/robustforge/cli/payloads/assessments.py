"""The payloads of `assess` and `compare`."""

from __future__ import annotations

from robustforge.assessment import Assessment, Comparison
from robustforge.tables import Record

ASSESSMENT_FORMAT = "robustforge-assessment/1"
COMPARISON_FORMAT = "robustforge-comparison/1"


def assessment_payload(found: Assessment, store: str) -> Record:
    """Return an assessment as plain data."""
    return {
        "format": ASSESSMENT_FORMAT,
        **_counts(found, store),
        "summaries": found.summaries(),
        "anytime": found.anytime(),
    }


def comparison_payload(found: Comparison, store: str) -> Record:
    """Return a comparison as plain data."""
    assert found.assessment is not None
    return {
        "format": COMPARISON_FORMAT,
        **_counts(found.assessment, store),
        "measure": found.measure,
        "cells": found.cells,
        "ranks": found.ranks,
        "summaries": found.assessment.summaries(),
    }


def _counts(found: Assessment, store: str) -> Record:
    reasons = [run.failure for run in found.runs if run.failure]
    return {
        "store": store,
        "runs": len(found.runs),
        "new_runs": found.new_runs,
        "failures": len(reasons),
        "reason": reasons[0] if reasons else None,
    }
