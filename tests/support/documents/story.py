"""Run the steps of a page in their order, against an engine that all pages share."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jetsql.client.engine_client import EngineClient
from jetsql.client.find_engine import find_or_start_engine
from jetsql.home.discovery import read_note
from jetsql.output.diagnostics import Script
from jetsql.output.render import Format
from jetsql.script import ScriptOutcome, prepare, run
from jetsql.settings.engine_settings import load
from tests.support.documents.blocks import Step, console_commands
from tests.support.documents.output import differs
from tests.support.paths import ROOT
from tests.support.screens.transcript import Transcript
from tests.support.servers.kafka import Kafka

_STEP_SECONDS: Final = 120.0
_MARK: Final = "\x1e"
_ERROR: Final = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")


@dataclass
class SharedEngine:
    """The engine of a home, which the first page starts, and every page that finds it stopped."""

    home: Path
    environ: Mapping[str, str]

    def connect(self) -> EngineClient:
        note = find_or_start_engine(load(environ=self.environ)).note
        return EngineClient(note.url, note.token)

    def stop(self) -> None:
        subprocess.run(
            (sys.executable, "-m", "jetsql", "stop"), env=dict(self.environ), check=True, capture_output=True
        )

    def addresses(self) -> dict[str, str]:
        """Return the addresses that pages give the endpoints, and where they are now: each start chooses ports."""
        note = read_note(self.home)
        if note is None:
            return {}
        http, connect, thrift = (url.partition("://")[2] for url in (note.url, note.connect, note.thrift))
        return {"localhost:8630": http, "localhost:15002": connect, "localhost:10000": thrift, "TOKEN": note.token}

    def clear(self) -> None:
        """Drop what a page has left."""
        engine = self.connect()
        for job, *_ in list(engine.run("SHOW JOBS").rows):
            engine.run(f"DROP JOB '{job}'")
        for name, *_ in list(engine.run("SHOW SNAPSHOTS").rows):
            engine.run(f"DROP SNAPSHOT `{name}`")
        views = {row[1] for row in engine.run("SHOW VIEWS IN default").rows}
        for _, name, *_ in list(engine.run("SHOW TABLES IN default").rows):
            engine.run(f"DROP {'VIEW' if name in views else 'TABLE'} default.`{name}`")
        for name, *_ in list(engine.run("SHOW SCHEMAS").rows):
            if name not in ("default", "jetsql"):
                engine.run(f"DROP SCHEMA `{name}` CASCADE")
        engine.close()


@dataclass
class Story:
    """One page. replaced: texts of the page, and what tests have instead of them."""

    page: str
    folder: Path
    engine: SharedEngine
    replaced: dict[str, str]
    kafka: Kafka | None = None  # for pages that use it
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""
    _session: EngineClient | None = None

    def run(self, steps: list[Step]) -> None:
        """Run a page. Raises AssertionError that names the line of the step that fails."""
        try:
            for step in steps:
                self._step(step)
        finally:
            if self._session is not None:
                self._session.close()

    def _step(self, step: Step) -> None:
        text = self._replace(step.text, is_sql=step.language == "sql")
        if self.kafka is not None:
            for topic, partitions in step.topics:
                self.kafka.topic(topic, partitions)
        if step.file is not None:
            file = self.folder / self._replace(step.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif step.is_output:
            self._compare(step, self._replace(step.text), self.printed)
        elif step.is_run:
            runner = {"sql": self._sql, "python": self._python, "shell": self._shell, "console": self._console}
            runner[step.language](step, text)

    def _replace(self, text: str, is_sql: bool = False) -> str:
        for written, meant in (self.engine.addresses() | self.replaced).items():
            if is_sql and written == "TOKEN":
                continue  # it is a word there: CREATE TOKEN
            text = re.sub(rf"(?<![\w${{]){re.escape(written)}(?![\w=}}])", meant.replace("\\", r"\\"), text)
        return text

    def _sql(self, step: Step, text: str) -> None:
        if self._session is None:
            self._session = self.engine.connect()
        transcript = Transcript()
        script = Script(f"{self.page}:{step.line}", text)
        outcome = run(prepare([script], {}), self._session, transcript, Format.TABLE, keep_going=False)
        self.printed = "\n".join(transcript.lines) + "\n"
        if step.fails is None:
            self._check(outcome is ScriptOutcome.SUCCEEDED, step, f"failed:\n{self.printed}")
        else:
            self._check_failure(step, outcome is ScriptOutcome.FAILED, self.printed)

    def _python(self, step: Step, text: str) -> None:
        if step.is_program:
            self._command(step, (sys.executable, "-c", text))
            return
        out = io.StringIO()
        code = compile("\n" * (step.line - 1) + text, self.page, "exec")
        failure: Exception | None = None
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            try:
                exec(code, self.names)
            except Exception as error:
                if step.fails is None:
                    raise
                failure = error
        self.printed = out.getvalue()
        if step.fails is not None:
            self._check_failure(step, failure is not None, f"[{getattr(failure, 'condition', '')}] {failure}")

    def _shell(self, step: Step, text: str) -> None:
        self._command(step, ("bash", "-euo", "pipefail", "-c", text))

    def _console(self, step: Step, text: str) -> None:
        """Run all commands in one shell, with a mark before what each prints."""
        commands = console_commands(text)
        script = "\n".join(f"printf '\\x1e'\n{command}" for command, _ in commands)
        self._command(step, ("bash", "-euo", "pipefail", "-c", script))
        parts = self.printed.split(_MARK)[1:]
        for (command, expected), printed in zip(commands, parts, strict=True):
            if expected.strip():
                self._compare(step, expected, printed, f"`{command}`")

    def _command(self, step: Step, command: tuple[str, ...]) -> None:
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.engine.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_STEP_SECONDS,
            check=False,
        )
        self.printed = ended.stdout
        if step.language == "python" and step.fails is not None:
            self._check_failure(step, ended.returncode != 0, self.printed)
        else:
            expected = int(step.fails or 0)
            self._check(ended.returncode == expected, step, f"ended with {ended.returncode}:\n{self.printed}")

    def _check_failure(self, step: Step, failed: bool, printed: str) -> None:
        self._check(failed, step, f"did not fail with {step.fails}:\n{printed}")
        self._check(step.fails in _ERROR.findall(printed), step, f"failed otherwise than with {step.fails}:\n{printed}")

    def _compare(self, step: Step, expected: str, printed: str, what: str = "the block before") -> None:
        self._check(
            not differs(expected, printed), step, f"{what} printed otherwise\n--- page\n{expected}\n--- came\n{printed}"
        )

    def _check(self, holds: bool, step: Step, message: str) -> None:
        if not holds:
            raise AssertionError(f"{self.page}:{step.line}: the {step.language} block {message}")


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Return the environment in which pages run, with a `jetsql` and a `python` that are this checkout's."""
    programs = folder / "bin"
    programs.mkdir()
    for name, words in {
        "jetsql": f"{shlex.quote(sys.executable)} -m jetsql",
        "python": shlex.quote(sys.executable),
    }.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JETSQL")}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "JETSQL_HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "state"),
        "TZ": "UTC",
        **{f"JETSQL_{name.upper()}": value for name, value in settings.items()},
    }
