"""The variants of the image, and the comparison of two builds, without building an image."""

from __future__ import annotations

import io
import json
import re
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tools.java.packages import connector_uris, newest_spark
from tools.kubernetes.compare_images import compare_images
from tools.kubernetes.image import VARIANTS, Variant, requirements

Files = dict[str, tuple[bytes, dict[str, Any]]]
"""The content of each file of a layer, and attributes of its entry."""
LAYER: Files = {"opt/a": (b"one", {}), "opt/b": (b"two", {"mode": 0o755})}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_each_variant_has_the_spark_of_its_connectors(variant: Variant) -> None:
    spark = newest_spark(variant.connectors)
    assert all(connector_uris(spark, [connector]) for connector in variant.connectors)
    pins = [each for each in requirements(variant) if re.match(r"pyspark\b.*==", each)]
    assert pins == ([f"pyspark=={spark}.*"] if variant.formats else [])


def test_variants_do_not_share_names() -> None:
    assert len({variant.image for variant in VARIANTS.values()}) == len(VARIANTS)
    assert len({variant.context for variant in VARIANTS.values()}) == len(VARIANTS)


def test_make_and_the_guides_name_the_variants() -> None:
    guides = [ROOT / "Makefile", ROOT / "docs" / "operate" / "systemd.md"]
    for guide in guides:
        text = guide.read_text(encoding="utf-8")
        assert all(f"VARIANT={name}" in text for name, variant in VARIANTS.items() if variant.formats)


def write_image(path: Path, layers: list[Files], user: str = "10001") -> Path:
    """Write an archive as `buildah push docker-archive:` does."""
    contents = [pack(layer) for layer in layers]
    names = [f"{sha256(each).hexdigest()}.tar" for each in contents]
    settings = json.dumps({"config": {"User": user}, "rootfs": {"diff_ids": names}}).encode()
    manifest = json.dumps([{"Config": "config.json", "Layers": names}]).encode()
    members = {**dict(zip(names, contents, strict=True)), "config.json": settings, "manifest.json": manifest}
    path.write_bytes(pack({name: (content, {}) for name, content in members.items()}))
    return path


def pack(files: Files) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, (content, attributes) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for key, value in attributes.items():
                setattr(entry, key, value)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("other", "differences"),
    [
        (LAYER, []),
        ({**LAYER, "opt/a": (b"ONE", {})}, ["layer 2: opt/a differs: content"]),
        ({**LAYER, "opt/a": (b"one", {"mtime": 5})}, ["layer 2: opt/a differs: mtime"]),
        ({**LAYER, "opt/b": (b"two!", {"mode": 0o644})}, ["layer 2: opt/b differs: mode, size, content"]),
        ({"opt/a": LAYER["opt/a"]}, ["layer 2: opt/b is only in one build"]),
        (dict(reversed(LAYER.items())), ["layer 2: the order of the files differs"]),
    ],
    ids=["alike", "content", "time", "several", "missing", "order"],
)
def test_differences_of_builds_are_named(tmp_path: Path, other: Files, differences: list[str]) -> None:
    base: Files = {"etc/os-release": (b"debian", {})}
    first = write_image(tmp_path / "first.tar", [base, LAYER])
    second = write_image(tmp_path / "second.tar", [base, other])
    assert compare_images(first, second) == differences


def test_settings_and_number_of_layers_are_compared(tmp_path: Path) -> None:
    first = write_image(tmp_path / "first.tar", [LAYER])
    second = write_image(tmp_path / "second.tar", [LAYER, LAYER], user="0")
    assert compare_images(first, second) == ["settings: config differs", "layers: 1 and 2"]
