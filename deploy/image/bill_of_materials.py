"""Print the software bill of materials of an image, in the format CycloneDX: Debian's packages, Python's, and jars.

    python bill_of_materials.py PYTHON_PACKAGES JARS

PYTHON_PACKAGES and JARS are folders. The time of the output is SOURCE_DATE_EPOCH, so that two builds are alike.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

PACKAGES = Path("/var/lib/dpkg/status")
EPOCH = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)


def debian_packages() -> Iterator[Component]:
    for entry in PACKAGES.read_text(encoding="utf-8").split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture): (.*)$", entry, re.M))
        if fields:
            purl = PackageURL("deb", "debian", fields["Package"], fields["Version"], {"arch": fields["Architecture"]})
            yield component(fields["Package"], fields["Version"], purl)


def python_packages(folder: str) -> Iterator[Component]:
    for each in distributions(path=[folder]):
        name, version = each.metadata["Name"], each.version
        yield component(name, version, PackageURL("pypi", None, name.lower().replace("_", "-"), version))


def jars(folder: str) -> Iterator[Component]:
    for jar in sorted(Path(folder).glob("*.jar")):
        content = HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(jar.read_bytes()).hexdigest())
        facts = maven_facts(jar)
        if facts is None:
            name, _, version = jar.stem.rpartition("-")
            yield component(name or jar.stem, version, None, jar.name, content)
        else:
            purl = PackageURL("maven", facts["groupId"], facts["artifactId"], facts["version"])
            yield component(facts["artifactId"], facts["version"], purl, jar.name, content)


def maven_facts(jar: Path) -> dict[str, str] | None:
    """Return what Maven wrote into a jar; None if it wrote nothing, or if the jar contains others."""
    with zipfile.ZipFile(jar) as archive:
        names = [each for each in archive.namelist() if re.fullmatch(r"META-INF/maven/.*/pom\.properties", each)]
        if len(names) != 1:
            return None
        facts = dict(re.findall(r"^(\w+) *= *(\S+)", archive.read(names[0]).decode(), re.M))
    return facts if {"groupId", "artifactId", "version"} <= facts.keys() else None


def component(name: str, version: str, purl: PackageURL | None, *unique: str | HashType) -> Component:
    hashes = [each for each in unique if isinstance(each, HashType)]
    reference = "/".join([str(purl or name), *(each for each in unique if isinstance(each, str))])
    return Component(name=name, version=version, purl=purl, hashes=hashes, bom_ref=reference)


def main(packages: str, jar_folder: str) -> None:
    components = [*debian_packages(), *python_packages(packages), *jars(jar_folder)]
    names = "\n".join(sorted(str(each.bom_ref) for each in components))
    bom = Bom(components=components, serial_number=uuid.uuid5(uuid.NAMESPACE_URL, names))
    bom.metadata.timestamp = EPOCH
    print(JsonV1Dot6(bom).output_as_string(indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
