"""Take the pictures of the report and of the web page that README and documentation show, of the shipped examples.

Run it after changing how they look: ``python tools/make_screenshots.py``. It needs Chromium and Playwright, which
``python3 dev.py test`` installs.
"""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _generated import ROOT

import concordant as cc
from concordant.support.processes import python

FOLDER = ROOT / "docs" / "_static"
EXAMPLES = ROOT / "examples"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
MAX_BYTES = 150_000


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        sys.exit("No Chromium is installed: apt-get install chromium.")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:

        def page(name: str, **options: Any) -> Any:
            profile = str(Path(folder) / name)
            context = driver.chromium.launch_persistent_context(profile, executable_path=program, args=FLAGS, **options)
            return context.new_page()

        report = Path(folder) / "report.html"
        cc.report(cc.read(EXAMPLES / "model-votes.csv"), report, title="Which model is best?")
        wide = page("wide", viewport={"width": 1000, "height": 980})
        wide.goto(report.as_uri())
        bottom = wide.evaluate("document.getElementById('ranking').getBoundingClientRect().bottom")
        wide.set_viewport_size({"width": 1000, "height": round(bottom) + 20})  # all of the first section
        save(wide, "report.png")
        phone = page("phone", viewport={"width": 390, "height": 780}, color_scheme="dark")
        phone.goto(report.as_uri())
        phone.evaluate("document.getElementById('methods').scrollIntoView()")
        save(phone, "report-telephone.png")
        serve(page("app", viewport={"width": 1200, "height": 800}))


def serve(page: Any) -> None:
    """Take the picture of the web page."""
    with subprocess.Popen(python("-m", "concordant", "serve"), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            page.goto(server.stdout.readline().split()[-1])
            page.click("[data-example='leaderboard']")
            page.wait_for_url("**/d/*")
            page.wait_for_selector("html[data-state=done]")
            save(page, "web.png")
        finally:
            server.send_signal(signal.SIGINT)


def save(page: Any, name: str) -> None:
    """Keep what is in sight, if it is small enough for a repository."""
    from PIL import Image  # comes with Matplotlib

    taken = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    out = io.BytesIO()
    taken.quantize(96, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    content = out.getvalue()
    if len(content) > MAX_BYTES:
        sys.exit(f"{name} has {len(content):,} bytes: take a smaller picture.")
    (FOLDER / name).write_bytes(content)
    print(f"{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
