"""Compare two archives of images, layer by layer, down to the attributes of each file."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final, cast

_ATTRIBUTES: Final = ("type", "mode", "uid", "gid", "mtime", "size", "linkname")


def compare_images(one: Path, other: Path) -> list[str]:
    """Return the differences of two archives that `docker load` reads, a line for each; none if they are alike."""
    with tarfile.open(one) as first, tarfile.open(other) as second:
        return list(_compare(first, second))


def _compare(first: tarfile.TarFile, second: tarfile.TarFile) -> Iterator[str]:
    ours, theirs = (_json(each, "manifest.json")[0] for each in (first, second))
    yield from _compare_settings(_json(first, ours["Config"]), _json(second, theirs["Config"]))
    if len(ours["Layers"]) != len(theirs["Layers"]):
        yield f"layers: {len(ours['Layers'])} and {len(theirs['Layers'])}"
    for number, (mine, yours) in enumerate(zip(ours["Layers"], theirs["Layers"], strict=False), start=1):
        if mine != yours:  # the names are digests of the contents
            for line in _compare_layers(_member(first, mine), _member(second, yours)):
                yield f"layer {number}: {line}"


def _compare_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Return the settings that differ, without the digests of the layers, which are compared themselves."""
    for key in sorted({*one, *other} - {"rootfs"}):
        if one.get(key) != other.get(key):
            yield f"settings: {key} differs"


def _compare_layers(one: IO[bytes], other: IO[bytes]) -> Iterator[str]:
    ours, theirs = _files(one), _files(other)
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            yield f"{name} is only in one build"
            continue
        changed = [key for key, value in ours[name].items() if value != theirs[name][key]]
        if changed:
            yield f"{name} differs: {', '.join(changed)}"
    if list(ours) != list(theirs) and ours == theirs:
        yield "the order of the files differs"


def _files(layer: IO[bytes]) -> dict[str, dict[str, object]]:
    """Return the attributes of the files of a layer, and a digest of their contents."""
    found: dict[str, dict[str, object]] = {}
    with tarfile.open(fileobj=layer, mode="r|") as files:
        for each in files:
            content = files.extractfile(each)
            digest = "" if content is None else hashlib.file_digest(cast(BufferedReader, content), "sha256").hexdigest()
            found[each.name] = {**{key: getattr(each, key) for key in _ATTRIBUTES}, "content": digest}
    return found


def _json(archive: tarfile.TarFile, name: str) -> Any:
    return json.load(_member(archive, name))


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    content = archive.extractfile(name)
    assert content is not None, f"{name} is a file"
    return content
