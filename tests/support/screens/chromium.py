"""Chromium of the system, driven by Playwright, with checks that every page has to pass."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, expect, sync_playwright

_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
# Rules of WCAG 2.2 AA; best practices are not all requirements.
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


_MILLISECONDS: Final = 20_000
expect.set_options(timeout=_MILLISECONDS)


@contextmanager
def running_chromium(*arguments: str) -> Iterator[Browser]:
    """Run Chromium without a screen. It has no sandbox, because containers and root do not allow one.

    arguments: more of the command line.
    """
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise RuntimeError("Chromium is not here; `make test` installs it (package chromium).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *arguments])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def checked_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """Yield a page in a context of its own.

    Errors of the scripts, and of the policy, of all pages of the context fail the test at the end.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    problems: list[str] = []

    def on_message(page: Page, message: ConsoleMessage) -> None:
        # A lost engine is part of a test; the browser reports its failed requests here.
        is_request = "Failed to load resource" in message.text
        # Text that replaces coloured text in an editor gets a style from Chromium itself, which the policy refuses.
        is_typed = page.url.endswith("/console/sql") and message.text.startswith("Applying inline style")
        if message.type == "error" and not is_request and not is_typed:
            problems.append(message.text)

    def on_dialog(dialog: Dialog) -> None:
        problems.append(f"a script was run: {dialog.message}")
        dialog.dismiss()

    def on_page(page: Page) -> None:
        page.on("console", partial(on_message, page))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", on_dialog)

    context.on("page", on_page)
    context.set_default_timeout(_MILLISECONDS)
    try:
        yield context.new_page()
    finally:
        context.close()
    if problems:
        raise AssertionError("\n".join(problems))


def accessibility_problems(page: Page) -> list[str]:
    """Return what axe-core finds on the page, with the elements."""
    options: Mapping[str, Any] = {"runOnly": {"type": "tag", "values": _RULES}}
    found = Axe().run(page, options=dict(options))
    return [
        f"{violation['id']}: {violation['help']}: {[node['html'][:200] for node in violation['nodes'][:5]]}"
        for violation in found.response["violations"]
    ]


def overflows(page: Page) -> bool:
    """Return whether the page scrolls sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
