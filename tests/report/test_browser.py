"""The page in a real browser: nothing is fetched, nothing goes wrong, nothing is cut off, on a desk, a phone and paper.

Chromium is spoken to through two pipes, in its own protocol, so that no further package is needed.
"""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import threading
import time

import pytest
from tests.report.evidence import full_evidence

from robustforge.report import page_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install -y chromium")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
