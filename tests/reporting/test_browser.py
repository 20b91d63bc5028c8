"""The page in a real browser: it fetches nothing, causes no error, and fits wide screens, phones and paper.

The tests talk to Chromium through two pipes in the DevTools protocol, so that no further package is needed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

import pytest
from test_report import full_dataset, made

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
WIDE, NARROW = 1280, 390
TIMEOUT = 120

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; apt-get install -y chromium")


class Browser:
    """A headless Chromium with one page, and the events that it reports."""

    def __init__(self, profile) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        far = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 20) for each in (theirs_in, theirs_out)]
        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=lambda: [os.dup2(each, number) for number, each in zip((3, 4), far, strict=True)],
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (theirs_in, theirs_out, *far):
            os.close(each)
        self._in, self._out, self._text = ours_in, ours_out, b""
        self._number, self._session, self.events = 0, None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method, **parameters):
        """Send a command and return its result; events are collected."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self):
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self._text:
            assert select.select([self._in], [], [], max(end - time.monotonic(), 0))[0], "no answer from Chromium"
            piece = os.read(self._in, 2**16)
            assert piece, "Chromium has ended"
            self._text += piece
        first, _, self._text = self._text.partition(b"\0")
        message = json.loads(first)
        if "method" in message:
            self.events.append((message["method"], message["params"]))
        return message

    def events_of(self, method):
        return [parameters for name, parameters in self.events if name == method]

    def show(self, path, width, height=900, scheme="light"):
        """Load a page in a window of a size and a colour scheme, and wait until it is loaded."""
        self.events.clear()
        size = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
        self("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=width < 600)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self("Page.navigate", url=f"file://{path}")
        while not self.events_of("Page.loadEventFired"):
            self._next()

    def evaluate(self, expression):
        """Return the value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def close(self):
        self._session = None
        try:
            self("Browser.close")
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._in)
            os.close(self._out)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(made(full_dataset()), encoding="utf-8")
    return path


OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"
TOO_WIDE = """
[...document.querySelectorAll('body *')]
  .filter(each => !each.parentElement.closest('.scroll, pre, nav, svg'))
  .filter(each => each.getBoundingClientRect().right > screen.width + 1)
  .map(each => each.tagName + ' ' + each.className)
"""
FLAT = """
[...document.querySelectorAll('figure svg')]
  .map(each => each.getBoundingClientRect()).filter(box => box.width < 200 || box.height < 30).length
"""
OUTSIDE = """
[...document.querySelectorAll('[src], [href], [action], [srcset], [data], [poster]')]
  .flatMap(each => ['src', 'href', 'action', 'srcset', 'data', 'poster'].map(name => each.getAttribute(name)))
  .filter(value => value !== null && !value.startsWith('#') && !value.startsWith('data:'))
"""
ORPHANS = """
[...document.querySelectorAll('svg use, svg image, nav a, [clip-path]')]
  .map(each => each.getAttribute('href') || each.getAttribute('clip-path').slice(4, -1))
  .filter(value => value.startsWith('#') && !document.getElementById(value.slice(1)))
"""
TWICE = """
(ids => ids.filter((id, place) => ids.indexOf(id) !== place))([...document.querySelectorAll('[id]')].map(e => e.id))
"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_loads_nothing_and_logs_no_error(browser, page, width, scheme):
    browser.show(page, width, scheme=scheme)
    browser.evaluate(OPEN)
    asked = [each["request"]["url"] for each in browser.events_of("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [f"file://{page}"]
    assert browser.events_of("Network.loadingFailed") == []
    assert browser.events_of("Runtime.exceptionThrown") == []
    assert browser.events_of("Runtime.consoleAPICalled") == []
    assert browser.events_of("Log.entryAdded") == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_wider_than_the_window(browser, page, width):
    browser.show(page, width)
    browser.evaluate(OPEN)
    assert browser.evaluate("innerWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.evaluate("screen.width") == width
    assert browser.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_figure_is_displayed(browser, page, width):
    browser.show(page, width)
    browser.evaluate(OPEN)
    figures = page.read_text(encoding="utf-8").count("<figure>")
    assert figures > 40
    assert browser.evaluate("document.querySelectorAll('figure svg[role=img][aria-label]').length") == figures
    assert browser.evaluate(FLAT) == 0
    assert browser.evaluate("[...document.querySelectorAll('figure')].every(e => e.innerText.trim().length > 20)")


def test_the_page_is_self_contained(browser, page):
    browser.show(page, WIDE)
    assert browser.evaluate(OUTSIDE) == []
    assert browser.evaluate(ORPHANS) == []
    assert browser.evaluate(TWICE) == []


def test_names_are_not_executed(browser, page):
    browser.show(page, WIDE)
    assert browser.evaluate("document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.evaluate("typeof pwned") == "undefined"
    assert "<img src=x onerror=pwned=1>" in browser.evaluate("document.body.innerText")


def test_figures_follow_the_colour_scheme(browser, page):
    ink = "getComputedStyle(document.querySelector('figure svg text')).fill"
    seen = []
    for scheme in ("light", "dark"):
        browser.show(page, WIDE, scheme=scheme)
        seen.append((browser.evaluate(ink), browser.evaluate("getComputedStyle(document.body).backgroundColor")))
    (light_ink, light), (dark_ink, dark) = seen
    assert light_ink != dark_ink
    assert light != dark


def test_the_page_can_be_printed(browser, page):
    browser.show(page, WIDE, scheme="dark")
    pdf = base64.b64decode(browser("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 100_000


def test_the_checks_detect_a_bad_page(browser, tmp_path):
    """The checks above can fail: this page does everything that they look for."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<p style='width: 3000px' id=a>wide</p><p id=a>again</p><figure><svg width=0></svg></figure>"
        "<svg><use href='#none'/></svg><img src='other.png'><script>console.error('no'); throw 1</script>",
        encoding="utf-8",
    )
    browser.show(path, NARROW)
    assert browser.evaluate("document.documentElement.scrollWidth") > NARROW
    assert browser.evaluate(TOO_WIDE)
    assert browser.evaluate(FLAT) == 1
    assert browser.evaluate(OUTSIDE) == ["other.png"]
    assert browser.evaluate(ORPHANS) == ["#none"]
    assert browser.evaluate(TWICE) == ["a"]
    assert browser.events_of("Runtime.consoleAPICalled")
    assert browser.events_of("Runtime.exceptionThrown")
    assert len(browser.events_of("Network.requestWillBeSent")) == 2
