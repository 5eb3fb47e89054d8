"""What every engine of the tests is started with, beside what `tools.class_archive.environment` has in it."""

from tests.support.postgres import DRIVER_PACKAGE

CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.jars.packages": DRIVER_PACKAGE,
    "spark.sql.session.timeZone": "UTC",
}
