"""A page of the app in a browser, and what people do on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.web.conftest import Server

EXAMPLES = ROOT / "examples"
DROP = """(files) => {
    const transfer = new DataTransfer();
    for (const { text, name } of files) transfer.items.add(new File([text], name));
    const target = document.getElementById("drop") || document.body;
    target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
}"""


class Screen:
    """A page of the app, and all that went wrong on it."""

    def __init__(self, page: Any, server: Server) -> None:
        from playwright.sync_api import expect

        self.page, self.server, self.expect = page, server, expect
        self.trouble: list[str] = []
        self.outside: list[str] = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: self.trouble.append(f"dialog {dialog.message}"))
        page.on("request", self._seen)
        page.goto(server.link)

    def _seen(self, request: Any) -> None:
        if not request.url.startswith((f"http://127.0.0.1:{self.server.port}/", "data:", "blob:")):
            self.outside.append(request.url)

    def drop(self, text: str, name: str = "votes.csv") -> Screen:
        self.page.evaluate(DROP, [{"text": text, "name": name}])
        return self.done()

    def example(self, name: str) -> Screen:
        self.page.click(f"[data-example='{name}']")
        return self.done()

    def visit(self, settings: str) -> Screen:
        """Go to the address of this data set with these settings."""
        self.page.goto(f"{self.page.url.partition('?')[0].partition('#')[0]}?{settings}")
        return self.done()

    def done(self, shell: str = "concordant") -> Screen:
        """Wait until the command on the screen holds these words, and the work is over."""
        self.page.wait_for_url("**/d/*")
        self.expect(self.page.locator("#shell")).to_contain_text(shell)
        self.page.wait_for_selector("html[data-state=done]")
        return self

    def failed(self, text: str) -> None:
        """Wait until the work has ended with a problem that holds these words."""
        self.page.wait_for_selector("html[data-state=failed]")
        self.expect(self.page.locator("#problem")).to_contain_text(text)

    def items(self) -> list[str]:
        return [text.strip() for text in self.page.locator("#ranking tbody th").all_text_contents()]

    def sections(self) -> list[str]:
        return [link.strip() for link in self.page.locator("#tabs a").all_text_contents()]

    def open(self, summary: str) -> None:
        self.page.locator("summary", has_text=summary).first.click()

    def download(self, kind: str) -> bytes:
        with self.page.expect_download() as coming:
            self.page.locator(f"#download [data-download={kind}]").click()
        return Path(coming.value.path()).read_bytes()

    def violations(self, axe: str) -> list[Any]:
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run()")["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]

    def focused(self, selector: str) -> bool:
        return bool(self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector))

    def tab_to(self, selector: str, key: str = "Tab", most: int = 120) -> None:
        for _ in range(most):
            if self.focused(selector):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached")


def rows(*lines: str) -> str:
    return "\n".join(lines) + "\n"
