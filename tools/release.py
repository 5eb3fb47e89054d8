"""Build and check the distributions of a release: `make release`. Nothing is published.

    python -m tools.release

1. The tree is that of a release: the changelog has its version, a home of it is recorded, everything is committed.
2. Build into dist/: the source distribution and, from its files alone, the wheel.
3. Check their metadata (twine) and their files.
4. Install it in two empty environments, with and without the engine. Start an engine, and run a job with both.
5. Do the same from a folder of wheels, without the network: in a namespace of its own where the system has them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from jetsql.version import VERSION

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
WORK: Final = ROOT / "build" / "release"
WHEELS: Final = WORK / "wheels"
"""The wheels of the release and of everything that they depend on."""
_MIB: Final = 1024 * 1024
_IN_OWN_NETWORK: Final = ("unshare", "--map-root-user", "--net")
_JOB: Final = """
CREATE TABLE numbers (n BIGINT) USING json;
CREATE TABLE evens (n BIGINT) USING parquet;
INSERT INTO numbers VALUES (1), (2), (3), (4);
CREATE JOB evens AS INSERT INTO evens SELECT n FROM STREAM numbers WHERE n % 2 = 0;
WAIT FOR JOB evens UNTIL IDLE;
DROP JOB evens;
DROP TABLE numbers;
"""


Ended = subprocess.CompletedProcess[str]


class ReleaseError(Exception):
    """The release is not fit to be published; the message says why."""


WHEEL: Final = f"jetsql-{VERSION}-py3-none-any.whl"
SDIST: Final = f"jetsql-{VERSION}.tar.gz"
EXTRAS: Final = {"engine": "[engine]", "client": ""}
"""The kinds of installations, with the extra of each."""


@click.command()
@click.option("--offline", is_flag=True, hidden=True, help="Only step 5, in the network that there is.")
@click.option("--unfinished", is_flag=True, help="Continue with a tree that step 1 refuses; its problems are printed.")
def main(offline: bool, unfinished: bool) -> None:
    """Build and check the distributions of a release."""
    try:
        if offline:
            _raise_loopback()
            try_installed("offline", ("--no-index", "--find-links", str(WHEELS)), from_folder=True)
        else:
            _release(unfinished)
    except ReleaseError as error:
        sys.exit(f"Not fit for a release: {error}")


def _release(unfinished: bool) -> None:
    problems = tree_problems()
    if problems and not unfinished:
        raise ReleaseError(" ".join(problems))
    for problem in problems:
        click.echo(f"PROBLEM: {problem}", err=True)
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(DIST, ignore_errors=True)
    _step("building", build)
    _step("checking the files", check_files)
    try_installed("online", ())
    _step("collecting wheels", collect_wheels)
    separate = _can_separate_network()
    if not separate:
        click.echo("No network namespaces here: only an option of pip keeps step 5 off the network.")
    run([*(_IN_OWN_NETWORK if separate else ()), sys.executable, "-m", "tools.release", "--offline"], show=True)
    for file in sorted(DIST.iterdir()):
        click.echo(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1024:.0f} KiB")


# --- the tree --------------------------------------------------------------------------------------------------------


def tree_problems() -> list[str]:
    """Return what is missing in the tree for a release of this version."""
    problems = []
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not changelog_has(changelog, VERSION):
        problems.append(f"CHANGELOG.md has no heading '## [{VERSION}] - YYYY-MM-DD'.")
    recorded = "r" + "_".join(VERSION.split(".")[:2])
    if not (ROOT / "tests" / "releases" / recorded / "store.sql").exists():
        problems.append(f"No home of this release is recorded: python -m tests.releases.recording {recorded}.")
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False)
    if changed.returncode or changed.stdout:
        problems.append("Not everything is committed (git status).")
    return problems


def changelog_has(text: str, version: str) -> bool:
    """Return whether a changelog has a heading of a version with its date."""
    return bool(re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE))


# --- building --------------------------------------------------------------------------------------------------------


def build() -> None:
    """Build the source distribution, and the wheels from it."""
    tools = Environment.create(WORK / "tools")
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools.install(*requirements["optional-dependencies"]["release"])
    tools.python("-m", "build", "--sdist", "--outdir", str(DIST), str(ROOT))
    with tarfile.open(DIST / SDIST) as archive:
        archive.extractall(WORK, filter="data")
    source = WORK / SDIST.removesuffix(".tar.gz")
    tools.python("-m", "build", "--wheel", "--outdir", str(DIST), str(source))
    tools.python("-m", "twine", "check", "--strict", *map(str, DIST.iterdir()))


def check_files() -> None:
    """Compare the files of the distributions with the tree. Raises ReleaseError."""
    compare("dist", {file.name for file in DIST.iterdir()}, {SDIST, WHEEL})
    with zipfile.ZipFile(DIST / WHEEL) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    compare(WHEEL, names, {*package_files()})
    with tarfile.open(DIST / SDIST) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    sources = {file.relative_to(ROOT).as_posix() for file in (ROOT / "java" / "src").rglob("*") if file.is_file()}
    sources |= {*package_files().values()}
    sources |= {"LICENSE", "README.md", "pyproject.toml", "setup.py", "tools/java/build_backend.py"}
    compare(SDIST, members & sources, sources)


def package_files() -> dict[str, str]:
    """Return the files that the wheel has to have, with their places in the tree."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    modules = [file.parent.relative_to(ROOT) for file in (ROOT / "jetsql").rglob("*.py")]
    folders = {".".join(folder.parts): folder.as_posix() for folder in modules} | options["package-dir"]
    found: dict[str, str] = {}
    for package, folder in folders.items():
        for pattern in ("*.py", *options["package-data"].get(package, ())):
            names = [file.relative_to(ROOT / folder).as_posix() for file in (ROOT / folder).glob(pattern)]
            if not names and pattern != "*.py":
                raise ReleaseError(f"No file of {package} matches {pattern}.")
            found |= {f"{package.replace('.', '/')}/{name}": f"{folder}/{name}" for name in names}
    return found


def compare(name: str, found: Collection[str], expected: Collection[str]) -> None:
    """Raise ReleaseError if two lists of files differ."""
    missing, surplus = sorted({*expected} - {*found}), sorted({*found} - {*expected})
    if missing or surplus:
        raise ReleaseError(f"{name} lacks {missing or 'nothing'} and has {surplus or 'nothing'} that it should not.")


# --- trying ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Environment:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True, symlinks=True)
        return cls(folder)

    def install(self, *requirements: str) -> None:
        self.python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)

    def python(self, *arguments: str) -> Ended:
        return run([str(self.folder / "bin" / "python"), *arguments])

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.lstat().st_size for file in self.folder.rglob("*") if file.is_file())

    def jetsql(self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None) -> Ended:
        """Run the command line."""
        own = {"JETSQL_CONFIG": os.devnull, "JETSQL_MASTER": "local[2]", "JETSQL_DRIVER_MEMORY": "1g"}
        return run([str(self.folder / "bin" / "jetsql"), *arguments], {**own, **(environ or {})}, code)


def collect_wheels() -> None:
    """Fill the folder of wheels, from which the release can be installed without the network."""
    pip = Environment(WORK / "tools")
    pip.python("-m", "pip", "wheel", "--quiet", "--wheel-dir", str(WHEELS), f"{DIST / WHEEL}[engine]")


def try_installed(name: str, options: Iterable[str], from_folder: bool = False) -> None:
    """Install the release with and without the engine, each in an empty environment, and use both.

    Raises ReleaseError.
    """
    environments = {}
    for kind, extra in EXTRAS.items():
        environment = Environment.create(WORK / f"{name}-{kind}")
        empty, start = environment.size(), time.monotonic()
        environment.install(*options, f"jetsql{extra}=={VERSION}" if from_folder else f"{DIST / WHEEL}{extra}")
        seconds = time.monotonic() - start
        size = (environment.size() - empty) / _MIB
        click.echo(f"{name}: jetsql{extra} installed in {seconds:.1f} s, {size:.1f} MiB with its dependencies")
        environments[kind] = environment
    home = WORK / f"{name}-home"
    _step(
        f"{name}: an engine, and a job by both",
        lambda: smoke_test(environments["engine"], environments["client"], home),
    )


def smoke_test(whole: Environment, client: Environment, home: Path) -> None:
    """Run an engine, and a job on it with each command line. Raises ReleaseError."""
    for environment in (whole, client):
        expect(environment.jetsql("--version").stdout.split()[:2], ["jetsql", VERSION])
    refused = client.jetsql("start", "--home", str(home), code=3)
    expect("[JETSQL.ENGINE_NOT_INSTALLED]" in refused.stderr, True)
    whole.jetsql("start", "--home", str(home))
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        remote = {"JETSQL_URL": note["url"], "JETSQL_TOKEN": note["token"]}
        for environment, environ in ((whole, {"JETSQL_HOME": str(home)}), (client, remote)):
            environment.jetsql("-e", _JOB, environ=environ)
            rows = environment.jetsql("--format", "csv", "-e", "SELECT n FROM evens ORDER BY n", environ=environ)
            expect(rows.stdout, "n\n2\n4\n")
            environment.jetsql("-e", "DROP TABLE evens", environ=environ)
        program = f"""if True:
            import importlib.util, jetsql
            assert importlib.util.find_spec("pyspark") is None
            with jetsql.connect({note["url"]!r}, token={note["token"]!r}) as connection:
                print(connection.cursor().execute("SELECT 1 + 1").fetchall())
        """
        expect(client.python("-c", program).stdout, "[(2,)]\n")
    finally:
        whole.jetsql("stop", "--home", str(home))


def expect(found: object, expected: object) -> None:
    """Raise ReleaseError if a value is not the expected one."""
    if found != expected:
        raise ReleaseError(f"{found!r} instead of {expected!r}.")


def _can_separate_network() -> bool:
    try:
        return subprocess.run([*_IN_OWN_NETWORK, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _raise_loopback() -> None:
    """Bring up the loopback interface if it is down, as in a new network namespace of Linux."""
    import fcntl
    import socket
    import struct

    if sys.platform != "linux":
        return
    get_flags, set_flags, is_up = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS and IFF_UP
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, get_flags, struct.pack("16sh14x", b"lo", 0))
        [flags] = struct.unpack("16xh14x", answer)
        if not flags & is_up:
            fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", flags | is_up))


def run(command: list[str], environ: Mapping[str, str] | None = None, code: int = 0, show: bool = False) -> Ended:
    """Run a program, away from the tree's package unless its output is shown. Raises ReleaseError for another code."""
    environment = {**os.environ, **(environ or {})}
    if not show:
        environment.pop("PYTHONPATH", None)
    ended = subprocess.run(
        command,
        cwd=ROOT if show else WORK,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=None if show else subprocess.PIPE,
        stderr=None if show else subprocess.PIPE,
        text=True,
        check=False,
    )
    if ended.returncode != code:
        raise ReleaseError(
            f"{' '.join(command)} ended with {ended.returncode}.\n{ended.stdout or ''}{ended.stderr or ''}"
        )
    return ended


def _step(name: str, act: Callable[[], None]) -> None:
    start = time.monotonic()
    act()
    click.echo(f"{name}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
