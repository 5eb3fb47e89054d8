"""Files of this machine, written without a process for each.

Without its native library, which PySpark does not have, Hadoop starts `chmod` for every file and folder that it makes,
and Spark makes several of both in each batch of a streaming query: its two logs, with their checksums, what a state
store keeps, what a sink writes. In small batches that was a third of their time.

Only where Spark and its tasks are one process: an executor's JVM would have to know the class when it starts.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

_SETTING: Final = "fs.file.impl"
_LOCAL_FILES: Final = "dev.jetsql.files.LocalFiles"


def set_rights_by_calls(spark: SparkSession) -> None:
    """From now on Spark's local file system sets the rights of new files itself, unless settings name another one."""
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if not context.master.startswith("local") or conf.get(_SETTING) is not None:
        return
    conf.set(_SETTING, _LOCAL_FILES)
    context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).close()  # else the one that is open already stays
