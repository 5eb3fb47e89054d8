"""What every engine of the tests is started with."""

from tests.postgres import DRIVER_PACKAGE

CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.jars.packages": DRIVER_PACKAGE,
    "spark.sql.session.timeZone": "UTC",
    # Engines of tests live too short for the compiler that makes a long life fast.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
