"""The Spark settings of every engine in the tests, in addition to those of `tools.class_archive.environment`."""

from tests.support.servers.postgres import DRIVER_PACKAGE

CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.jars.packages": DRIVER_PACKAGE,
    "spark.sql.session.timeZone": "UTC",
}
