package dev.jetsql.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ConnectorsTest {
  @Test
  void packagesExcludeWhatSparkContains() {
    var uri = Connectors.packages("kafka").get(0);
    assertTrue(uri.toString().contains("exclude=org.apache.spark:"), uri.toString());
    assertTrue(
        Connectors.mavenName(uri)
            .matches("org\\.apache\\.spark:spark-sql-kafka-0-10_2\\.13:[\\d.]+"),
        Connectors.mavenName(uri));
  }

  @Test
  void connectorsThatAreNotInTheTableAreErrors() {
    var error = assertThrows(IllegalStateException.class, () -> Connectors.packages("hudi"));
    assertEquals(
        "No hudi connector is known for Spark " + SparkVersion.name() + ".", error.getMessage());
  }
}
