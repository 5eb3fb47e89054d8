"""The entry point of the image: it runs commands of JetSQL, and executors as Spark starts them on Kubernetes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

ENTRYPOINT = ROOT / "deploy" / "image" / "entrypoint"
EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.88.0.7:7078",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "600m",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.88.0.8",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "jetsql-exec-1",
}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with a java and a jetsql that print how they were started."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("java", "jetsql"):
        program = f"import json, os, sys; print(json.dumps([{name!r}, os.getcwd(), *sys.argv[1:]]))"
        file = folder / name
        file.write_text(f"#!{sys.executable}\n{program}\n")
        file.chmod(0o755)
    return folder


def started(programs: Path, *arguments: str, **variables: str) -> Any:
    """Return the program, folder and arguments that the entry point ends in."""
    environment = {"PATH": f"{programs}:/usr/bin:/bin", **variables}
    output = subprocess.run(
        [ENTRYPOINT, *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return json.loads(output)


def test_commands_are_those_of_jetsql(programs: Path) -> None:
    assert started(programs, "serve", "--master", "local[2]")[::2] == ["jetsql", "serve", "local[2]"]


def test_executor_has_what_spark_passes_in_variables(programs: Path, tmp_path: Path) -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number}" for number in range(12)}
    options["SPARK_JAVA_OPT_3"] = "-Dtext=two words; $HOME\nand lines"
    folders = {"SPARK_LOCAL_DIRS": f"{tmp_path},/none"}
    program, folder, *words = started(programs, "executor", **EXECUTOR, **options, **folders)
    assert (program, folder) == ("java", str(tmp_path))
    assert words[:12] == [options[f"SPARK_JAVA_OPT_{number}"] for number in range(12)]
    backend = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert words[12:17] == ["-Xms600m", "-Xmx600m", "-cp", "/opt/spark/jars/*", backend]
    assert dict(zip(words[17::2], words[18::2], strict=True)) == {
        "--driver-url": EXECUTOR["SPARK_DRIVER_URL"],
        "--executor-id": "1",
        "--cores": "2",
        "--app-id": "spark-application-1",
        "--hostname": "10.88.0.8",
        "--resourceProfileId": "0",
        "--podName": "jetsql-exec-1",
    }


def test_executor_without_a_variable_fails(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        started(programs, "executor", SPARK_EXECUTOR_MEMORY="600m", SPARK_LOCAL_DIRS=str(tmp_path))
    assert "SPARK_DRIVER_URL: unbound variable" in caught.value.stderr


def test_classes_of_the_user_come_first(programs: Path, tmp_path: Path) -> None:
    more = {"SPARK_EXTRA_CLASSPATH": "/mine/*", "SPARK_CLASSPATH": "/other.jar", "SPARK_LOCAL_DIRS": str(tmp_path)}
    words = started(programs, "executor", **EXECUTOR, **more)
    assert words[words.index("-cp") + 1] == "/mine/*:/other.jar:/opt/spark/jars/*"


def test_executor_leaves_as_planned_before_its_pod_ends(tmp_path: Path) -> None:
    """Run the program that Kubernetes calls, with a process named java in its namespace."""
    script = (ENTRYPOINT.with_name("decommission")).read_text().replace("/proc/[0-9]*", f"{tmp_path}/[0-9]*")
    java = tmp_path / "java"
    shutil.copy(shutil.which("bash") or "", java)
    report = "trap 'echo PWR; exit' PWR; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen([java, "-c", report], stdout=subprocess.PIPE, text=True) as executor:
        assert executor.stdout is not None and executor.stdout.readline() == "ready\n"
        (tmp_path / str(executor.pid)).symlink_to(f"/proc/{executor.pid}")
        (tmp_path / "1").mkdir()  # a process that has ended meanwhile
        script = script.replace("executor=${process#/proc/}", f"executor=${{process#{tmp_path}/}}")
        collect = threading.Thread(target=executor.wait)  # the first process in a container does it
        collect.start()
        subprocess.run(["bash", "-c", script], check=True, timeout=60)
        assert executor.stdout.read() == "PWR\n"
        collect.join()
