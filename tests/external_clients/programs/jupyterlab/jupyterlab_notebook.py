"""JupyterLab in a browser: `%%jetsql`, a live table that redraws and is interrupted, an error, and nbconvert."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import nbformat
from playwright.sync_api import expect, sync_playwright
from story import run_step

import jetsql

SCHEMA = os.environ["JETSQL_TEST_SCHEMA"]
URL, TOKEN = os.environ["JETSQL_TEST_URL"], os.environ["JETSQL_TEST_TOKEN"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 90
CELLS = (
    "%load_ext jetsql",
    "%%jetsql\nSHOW JOBS",
    f"%%jetsql\nSELECT id, amount FROM STREAM {SCHEMA}.orders",
    f"%%jetsql\nSELECT count(*) AS n FROM {SCHEMA}.orders;\nSUSPEND JOB {SCHEMA}_copi",
    f"%%jetsql totals <<\nSELECT sum(amount) AS total FROM {SCHEMA}.orders",
    "totals.records",
)
LOAD, SHOW, LIVE, ERROR, TOTALS, RECORDS = range(len(CELLS))

folder = Path(tempfile.mkdtemp(prefix="jetsql-lab-"))
pictures = os.environ.get("JETSQL_TEST_PICTURES")  # a folder


def run(*texts):
    with jetsql.connect(URL, token=TOKEN) as connection, connection.cursor() as cursor:
        for text in texts:
            cursor.execute(text)
        return cursor.fetchall() if cursor.description else []


def wait(what, found):
    end = time.monotonic() + SECONDS
    while not (value := found()):
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.1)
    return value


def check_caret(text):
    """Check that the caret of an error is below the name of the job."""
    lines = text.splitlines()
    caret = next(number for number, line in enumerate(lines) if line.rstrip().endswith("^"))
    assert lines[caret].index("^") == lines[caret - 1].index(f"{SCHEMA}_copi"), text


@contextmanager
def running_lab():
    """Run JupyterLab, and yield the address of the notebook."""
    environment = {**os.environ, "JETSQL_URL": URL, "JETSQL_TOKEN": TOKEN}
    environment |= {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root", "--IdentityProvider.token=lab"]
    with open(folder / "lab.log", "w") as log:
        lab = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                *options,
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                f"--ServerApp.root_dir={folder}",
            ],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        note = wait("server", lambda: next(iter((folder / "runtime").glob("jpserver-*.json")), None))
        port = wait("port", lambda: note.read_text().strip() and json.loads(note.read_text())["port"])
        yield f"http://127.0.0.1:{port}/lab/tree/shop.ipynb?token=lab"
    finally:
        lab.terminate()
        lab.wait(30)


class Notebook:
    """The page of the notebook."""

    def __init__(self, page):
        self.page = page

    def open(self, address):
        self.page.goto(address)
        expect(self.cell(LOAD)).to_be_visible()
        expect(self.page.locator('.jp-NotebookPanel [data-status="idle"]').first).to_be_visible()
        return ""

    def cell(self, number):
        return self.page.locator(".jp-NotebookPanel .jp-Notebook .jp-CodeCell").nth(number)

    def output(self, number):
        return self.cell(number).locator(".jp-OutputArea-output")

    def start(self, number):
        self.cell(number).locator(".cm-content").focus()
        self.page.keyboard.press("Control+Enter")

    def ended(self, number):
        expect(self.cell(number).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))

    def picture(self, name):
        if pictures:
            self.page.screenshot(path=f"{pictures}/{name}.png")

    def load(self):
        # JupyterLab shows an idle kernel before it can send it a cell, and ignores the key until then.
        def loaded():
            self.start(LOAD)
            self.page.wait_for_timeout(3000)
            return re.search(r"\[[\d*]+\]", self.cell(LOAD).locator(".jp-InputPrompt").inner_text())

        wait("kernel", loaded)
        self.ended(LOAD)
        return ""

    def show_jobs(self):
        self.start(SHOW)
        self.ended(SHOW)
        expect(self.output(SHOW).locator("td", has_text=f"{SCHEMA}_copy").first).to_be_visible()
        self.picture("show_jobs")
        return ""

    def live_table(self):
        self.start(LIVE)
        for number in (1, 2):
            run(f"INSERT INTO {SCHEMA}.orders VALUES ({number}, {number}.50)")
            expect(self.output(LIVE).locator("td", has_text=f"{number}.50")).to_be_visible()
        assert self.output(LIVE).count() == 1, "the table is redrawn in its place"
        self.picture("live")
        return self.output(LIVE).inner_text().splitlines()[-1]

    def interrupt(self):
        self.page.locator('.jp-NotebookPanel [data-command="notebook:interrupt-kernel"]').first.click()
        self.ended(LIVE)
        run(f"INSERT INTO {SCHEMA}.orders VALUES (3, 3.50)")
        assert self.output(LIVE).locator("tbody tr").count() == 2
        self.picture("interrupted")
        return self.output(LIVE).inner_text().splitlines()[-1]

    def error(self):
        self.start(ERROR)
        self.ended(ERROR)
        text = self.output(ERROR).last.inner_text()
        self.picture("error")
        for part in ("JETSQL.JOB_NOT_FOUND", f"2 | SUSPEND JOB {SCHEMA}_copi", "^", f"Did you mean {SCHEMA}_copy?"):
            assert part in text, text
        assert "Traceback" not in text, text
        check_caret(text)
        return text.splitlines()[0]

    def result(self):
        for number in (TOTALS, RECORDS):
            self.start(number)
            self.ended(number)
        expect(self.output(RECORDS)).to_contain_text("Decimal('7.50')")
        return ""

    def save(self):
        self.page.keyboard.press("Control+s")
        path = folder / "shop.ipynb"
        wait("saved notebook", lambda: nbformat.read(path, 4).cells[RECORDS].outputs)
        return ""


def nbconvert():
    """Convert the executed notebook, as it was saved."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "shop.ipynb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return ""


def converted_page(page):
    page.goto((folder / "shop.html").as_uri())
    expect(page.locator("td", has_text=f"{SCHEMA}_copy").first).to_be_visible()
    expect(page.locator("td", has_text="2.50")).to_be_visible()
    text = page.locator("pre", has_text="JETSQL.JOB_NOT_FOUND").inner_text()
    check_caret(text)
    if pictures:
        page.screenshot(path=f"{pictures}/html.png", full_page=True)
    return ""


def prepare():
    run(
        f"CREATE SCHEMA {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.orders (id INT, amount DECIMAL(10,2)) USING json",
        f"CREATE TABLE {SCHEMA}.copy (id INT, amount DECIMAL(10,2)) USING parquet",
        f"CREATE JOB {SCHEMA}_copy AS INSERT INTO {SCHEMA}.copy SELECT * FROM STREAM {SCHEMA}.orders",
    )
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "shop.ipynb")
    return ""


def drop():
    run(f"DROP JOB {SCHEMA}_copy", f"DROP SCHEMA {SCHEMA} CASCADE")
    shutil.rmtree(folder)
    return ""


if __name__ == "__main__":
    run_step("prepare", prepare)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    expect.set_options(timeout=SECONDS * 1000)
    with running_lab() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SECONDS * 1000)
        lab = Notebook(page)
        run_step("open", lambda: lab.open(address))
        for step in (
            lab.load,
            lab.show_jobs,
            lab.live_table,
            lab.interrupt,
            lab.error,
            lab.result,
            lab.save,
            nbconvert,
        ):
            run_step(step.__name__, step)
        run_step("converted_page", lambda: converted_page(page))
        browser.close()
    run_step("drop", drop)
