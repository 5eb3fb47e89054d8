"""Files of this machine, written without a process for each.

Without its native library, which PySpark does not have, Hadoop starts `chmod` for every file and folder that it makes,
and Spark makes several of both in each batch of a streaming query: its two logs, with their checksums, what a state
store keeps, what a sink writes. In small batches that was a third of their time.

Only where Spark and its tasks are one process: a member's JVM would have to know the class when it starts.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_bridge import class_beside

_SETTING: Final = "fs.file.impl"
_HADOOPS_OWN: Final = "org.apache.hadoop.fs.LocalFileSystem"


def set_rights_by_calls(spark: SparkSession) -> None:
    """From now on Spark's local file system sets the rights of new files itself, unless settings name another one."""
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if not context.master.startswith("local") or conf.get(_SETTING) is not None:
        return
    files = class_beside(context._gateway, _HADOOPS_OWN, "local_files", "LocalFiles")
    conf.set(_SETTING, files.getClass().getName())
    context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).close()  # else the one that is open already stays
