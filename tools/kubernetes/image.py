"""Build the image of `deploy/image` without a container engine and without an image registry.

The base is a minimal Debian with Python and Java, from Debian's packages. The Python packages and the connectors are
downloaded before the build, in the same way as for a development environment, and the build itself has no downloads.

Two builds from the same base, packages and connectors should be alike except for the archive of Java's classes: Java
writes the addresses and the order in which its threads have loaded the classes. `compare_builds` shows what differs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

from filelock import FileLock

from tools.java.packages import connector_uris, fetch, newest_spark
from tools.kubernetes.cache import CACHE, run_logged
from tools.kubernetes.compare_images import compare_images
from tools.kubernetes.namespaces import PRIVATE_MOUNTS
from tools.release import WHEEL

ROOT: Final = Path(__file__).parents[2]
FILES: Final = ROOT / "deploy" / "image"
IMAGE: Final = "localhost/jetsql:test"
CONNECTORS: Final = ("kafka", "avro", "postgresql", "s3")
EXTRAS: Final = ("engine", "postgresql", "arrow", "oidc")
_SUITE: Final = "bookworm"
_PYTHON: Final = "3.11"
"""The Python of the suite."""
_PACKAGES: Final = ("ca-certificates", "openjdk-17-jre-headless", "python3", "python3-venv", "tini")
_PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
_BILL: Final = "cyclonedx-python-lib>=11,<12"
"""The package that writes the bill of materials, which is not part of the image."""
_EPOCH: Final = "315532800"
"""The time of all files that a build makes, in seconds: the first that an archive of ZIP can have."""
_STORAGE: Final = CACHE / "images"


@dataclass(frozen=True)
class Variant:
    """An image for some table formats, with the newest Spark that has them."""

    extra: str = ""
    """The extra of JetSQL that installs this Spark; empty without table formats."""
    formats: tuple[str, ...] = ()
    """The table formats."""

    @property
    def connectors(self) -> tuple[str, ...]:
        return (*CONNECTORS, *self.formats)

    @property
    def extras(self) -> tuple[str, ...]:
        return (*EXTRAS, self.extra) if self.extra else EXTRAS

    @property
    def image(self) -> str:
        return self._named(IMAGE)

    @property
    def context(self) -> Path:
        """The folder in which the image is built."""
        return CACHE / self._named("context")

    def _named(self, name: str) -> str:
        return f"{name}-{self.extra}" if self.extra else name


PLAIN: Final = Variant()
VARIANTS: Final[Mapping[str, Variant]] = {
    "plain": PLAIN,
    "delta": Variant("delta", ("delta",)),
    "iceberg": Variant("iceberg", ("iceberg", "delta")),
}


def build_image(variant: Variant = PLAIN) -> Path:
    """Return an archive of the image of this checkout, which is built. Raises BuildFailed."""
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(CACHE / "image.lock"):
        return _build_variant(variant, variant.image)


def compare_builds(variant: Variant = PLAIN) -> list[str]:
    """Build the image of this checkout twice, the second time without layers of an earlier build.

    Returns the differences, a line for each. Raises BuildFailed.
    """
    first = build_image(variant)
    with FileLock(CACHE / "image.lock"):
        again = f"{variant.image}-again"
        second = _build_variant(variant, again, "--no-cache")
        _buildah("rmi", again)
        differences = compare_images(first, second)
        second.unlink()
        return differences


def _build_variant(variant: Variant, name: str, *options: str) -> Path:
    base = _base_image()
    _make_context(variant)
    wheels = variant.context / "wheels"
    arguments = {
        "BASE": base,
        "CONNECTORS": " ".join(variant.connectors),
        "PACKAGES_DIGEST": _digest(each for each in wheels.iterdir() if each.name != WHEEL),
        "WHEEL_DIGEST": _digest([wheels / WHEEL]),
    }
    return build(variant.context, name, FILES / "Containerfile", arguments, *options)


def build(context: Path, name: str, file: Path, arguments: Mapping[str, str], *more: str) -> Path:
    """Build an image, and return its archive. Raises BuildFailed. more: options of buildah"""
    options = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
    options += ["--isolation", "chroot", "--layers", "--timestamp", _EPOCH, "--format", "docker", "--pull-never"]
    options += more
    _buildah("build", *options, "--tag", name, "--file", str(file), str(context))
    archive = CACHE / f"{name.partition('/')[2].replace(':', '-')}.tar"
    archive.unlink(missing_ok=True)
    _buildah("push", name, f"docker-archive:{archive}:{name}")
    _buildah("rmi", "--prune", "--force")
    return archive


def _base_image() -> str:
    """Return the name of the image with Debian, Python and Java, which is made if it is missing."""
    recipe = repr((_SUITE, _PACKAGES)).encode()
    name = f"localhost/jetsql-base:{sha256(recipe).hexdigest()[:12]}"
    if _has_image(name):
        return name
    sys.stderr.write(
        f"Making the base of the image with debootstrap from Debian's packages ({_SUITE}, once; downloads 150 MB, and"
        " takes two minutes): so no image registry is needed.\n"
    )
    folder = CACHE / "base"
    shutil.rmtree(folder, ignore_errors=True)
    command = ("debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", _SUITE, str(folder))
    _call(*PRIVATE_MOUNTS, *command, log=CACHE / "base.log")
    for each in ("var/cache/apt", "var/lib/apt/lists", "var/log", "debootstrap"):
        shutil.rmtree(folder / each, ignore_errors=True)
    (folder / "var/log").mkdir()
    shutil.rmtree(folder / "dev")  # the runtime makes the devices of a container
    (folder / "dev").mkdir()
    file = folder.with_name("base.Containerfile")
    file.write_text("FROM scratch\nCOPY . /\n")
    _buildah("build", "--tag", name, "--file", str(file), str(folder))
    shutil.rmtree(folder)
    return name


def _make_context(variant: Variant) -> None:
    """Collect the files that the build copies: JetSQL, Python packages, connectors, and the entry point."""
    context = variant.context
    context.mkdir(exist_ok=True)
    for name in ("entrypoint", "decommission", "bill_of_materials.py"):
        shutil.copy(FILES / name, context)
    wheels = context / "wheels"
    _collect_wheels(wheels, requirements(variant))
    for old in wheels.glob("jetsql-*.whl"):
        old.unlink()
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools would take deleted modules from it
    _pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT))
    jars = context / "jars"
    shutil.rmtree(jars, ignore_errors=True)
    spark = newest_spark(variant.connectors)
    for connector in variant.connectors:
        (jars / connector).mkdir(parents=True)
        for jar in fetch(*connector_uris(spark, [connector])):
            shutil.copy(jar, jars / connector)


def _collect_wheels(folder: Path, needed: Sequence[str]) -> None:
    """Download the Python packages that JetSQL needs, unless they are there."""
    complete = folder / "requirements"
    if complete.exists() and complete.read_text() == "\n".join(needed):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sys.stderr.write("Downloading the Python packages of the image (once; Spark is 450 MB).\n")
    # PyPI has no wheel of PySpark, which is the same for each Python.
    spark = [each for each in needed if each.startswith("pyspark")]
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), *spark)
    machine = os.uname().machine
    options = [
        "--only-binary=:all:",
        "--python-version",
        _PYTHON,
        "--implementation",
        "cp",
        "--find-links",
        str(folder),
    ]
    options += [word for each in _PLATFORMS for word in ("--platform", f"{each}_{machine}")]
    _pip("download", *options, "--dest", str(folder), *needed, _BILL)
    complete.write_text("\n".join(needed))


def requirements(variant: Variant) -> Sequence[str]:
    """Return the Python packages of JetSQL and of the extras of the image."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found = [*project["dependencies"], *(each for extra in variant.extras for each in extras[extra])]
    return [each for each in found if not each.startswith("jetsql[")]


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of the names and contents of files."""
    digest = sha256()
    for file in sorted(files):
        with file.open("rb") as content:
            digest.update(f"{file.name} {file_digest(content, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _has_image(name: str) -> bool:
    ended = subprocess.run(buildah_command("inspect", "--type=image", name), capture_output=True, check=False)
    return ended.returncode == 0


def buildah_command(*arguments: str) -> list[str]:
    """Return the command of buildah on the images of this machine, whose mounts end with it."""
    storage = ("--root", str(_STORAGE), "--runroot", str(CACHE / "images-in-use"), "--storage-driver", "overlay")
    return [*PRIVATE_MOUNTS, "buildah", *storage, *arguments]


def _buildah(*arguments: str) -> None:
    _call(*buildah_command(*arguments), log=CACHE / "image.log")


def _pip(*arguments: str) -> None:
    _call(sys.executable, "-m", "pip", *arguments, log=CACHE / "wheels.log")


def _call(*command: str, log: Path) -> None:
    """Run a command. Raises BuildFailed."""
    run_logged(*command, log=log, environment={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH})
