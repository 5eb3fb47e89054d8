"""Set the permissions of local files without a process for each file.

Without its native library, which PySpark lacks, Hadoop starts `chmod` for every file and folder that it creates. Spark
creates several in each batch of a streaming query: entries of two logs with checksums, files of the state store, and
files of the sink. In small batches, `chmod` took a third of the time.

This applies only on `local[*]`: the JVM of an executor would need the class when it starts.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

_SETTING: Final = "fs.file.impl"
_LOCAL_FILES: Final = "dev.jetsql.files.LocalFiles"


def set_rights_by_calls(spark: SparkSession) -> None:
    """Make Spark's local file system set permissions by system calls, unless a setting names another file system."""
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if not context.master.startswith("local") or conf.get(_SETTING) is not None:
        return
    conf.set(_SETTING, _LOCAL_FILES)
    context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).close()  # otherwise Hadoop reuses the open instance
