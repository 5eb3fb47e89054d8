"""The images of a cluster, unpacked once: the containerd of each node begins with hard links to them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from filelock import FileLock

from tools.kubernetes.cache import CACHE, BuildFailed
from tools.kubernetes.configuration import containerd_configuration
from tools.kubernetes.image import build
from tools.kubernetes.namespaces import Daemon, Namespaces, run_checked

PAUSE: Final = "localhost/pause:1"
_STORE: Final = CACHE / "containerd"
_SECONDS: Final = 60.0


def pause_archive(program: Path) -> Path:
    """Return an archive of the image of the pause container. Raises BuildFailed. program: that of the container."""
    archive = CACHE / "pause-1.tar"
    if archive.exists() and archive.stat().st_mtime > program.stat().st_mtime:
        return archive  # without waiting for the build of another image
    context = CACHE / "pause"
    with FileLock(CACHE / "image.lock"):
        context.mkdir(exist_ok=True)
        shutil.copy(program, context / "pause")
        file = CACHE / "pause.Containerfile"
        file.write_text('FROM scratch\nCOPY pause /pause\nUSER 65534\nENTRYPOINT ["/pause"]\n')
        return build(context, PAUSE, file, {})


def link_images(inside: Namespaces, archives: Sequence[Path], roots: Sequence[Path]) -> None:
    """Make folders with the images of archives for the containerd of each node. Raises BuildFailed."""
    with FileLock(CACHE / "containerd.lock"):
        _unpack(inside, archives)
        for root in roots:
            run_checked("cp", "--archive", "--link", str(_STORE), str(root))
            for database in _STORE.glob("*/*.db"):  # only these are changed, and not replaced
                copy = root / database.relative_to(_STORE)
                copy.unlink()
                shutil.copy(database, copy)


def _unpack(inside: Namespaces, archives: Sequence[Path]) -> None:
    """Unpack images into the store, unless it has them. Layers that it has are not unpacked again."""
    stamp = CACHE / "containerd.images"
    wanted = "".join(f"{each} {each.stat().st_mtime_ns}\n" for each in archives)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    socket = inside.folder / "store.sock"
    containerd = start_containerd(inside, inside.folder / "store", socket, _STORE)
    try:
        for archive in archives:
            inside.run("ctr", f"--address={socket}", "--namespace=k8s.io", "images", "import", str(archive))
    finally:
        containerd.end()
    stamp.write_text(wanted)


def start_containerd(inside: Namespaces, folder: Path, socket: Path, root: Path) -> Daemon:
    """Start a containerd, and wait until it answers. Raises BuildFailed.

    folder: of its configuration, state and log. root: of its images and containers. The folder `networks` of the
    namespaces has the configuration of networks.
    """
    folder.mkdir(exist_ok=True)
    configuration = folder / "containerd.toml"
    configuration.write_text(
        containerd_configuration(root, folder / "state", socket, inside.folder / "networks", PAUSE)
    )
    containerd = inside.start(folder / "containerd.log", "containerd", f"--config={configuration}")
    end = time.monotonic() + _SECONDS
    while True:
        try:
            inside.run("ctr", f"--address={socket}", "--timeout=1s", "version")
            return containerd
        except BuildFailed:
            if not containerd.is_running() or time.monotonic() > end:
                raise
            time.sleep(0.1)
