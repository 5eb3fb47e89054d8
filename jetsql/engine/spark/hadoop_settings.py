"""Settings of Hadoop that make small batches cheaper.

Without its native library, which PySpark lacks, Hadoop starts `chmod` for every file and folder that it creates. Spark
creates several in each batch of a streaming query: entries of two logs with checksums, files of the state store, and
files of the sink. In small batches, `chmod` took a third of the time.

Spark also sends all settings of Hadoop to the tasks of each batch, see `HadoopSettings.java`.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java

_LOCAL_FILE_SYSTEM: Final = "fs.file.impl"
_LOCAL_FILES: Final = "dev.jetsql.files.LocalFiles"


def make_batches_cheaper(spark: SparkSession) -> None:
    """Let Spark's local file system set permissions by system calls, and forget where settings come from.

    A setting may name another local file system; it is kept.
    """
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if conf.get(_LOCAL_FILE_SYSTEM) is None:
        conf.set(_LOCAL_FILE_SYSTEM, _LOCAL_FILES)
        context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).close()  # or Hadoop reuses the open instance
    java(spark).files.HadoopSettings.forgetSources(conf)
