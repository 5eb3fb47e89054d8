"""Settings of Hadoop: files that survive a power failure, and cheaper small batches.

Hadoop leaves the content of a closed file to the system, which writes it later: after a power failure it can be empty,
although a later file is whole. JetSQL's local file system synchronizes each file when it is closed.

Without its native library, which PySpark lacks, Hadoop starts `chmod` for every file and folder that it creates. Spark
creates several in each batch of a streaming query: entries of two logs with checksums, files of the state store, and
files of the sink. In small batches, `chmod` took a third of the time.

Spark also copies all settings of Hadoop, and sends them to the tasks of each batch, see `HadoopSettings.java`.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java

_LOCAL_FILE_SYSTEM: Final = "fs.file.impl"
_YARN: Final = "yarn"
_LOCAL_FILES: Final = "dev.jetsql.files.LocalFiles"
_LOCAL_CONTEXT: Final = ("fs.AbstractFileSystem.file.impl", "dev.jetsql.files.LocalFileContext")


def configure_hadoop(spark: SparkSession) -> None:
    """Let Spark use JetSQL's local file system, and reduce the settings to those that the engine needs.

    A setting may name another local file system; it is kept.
    """
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if conf.get(_LOCAL_FILE_SYSTEM) is None:
        conf.set(_LOCAL_FILE_SYSTEM, _LOCAL_FILES)
        conf.set(*_LOCAL_CONTEXT)
        context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).close()  # or Hadoop reuses the open instance
    java(spark).files.HadoopSettings.reduce(conf, context.master.startswith(_YARN))
