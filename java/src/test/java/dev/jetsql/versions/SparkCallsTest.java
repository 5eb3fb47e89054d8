package dev.jetsql.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Tests of {@link SparkCalls}. */
class SparkCallsTest {
  @Test
  void textsHaveTheirUsualTypeInArrow() {
    var schema = SparkCalls.arrowSchema(StructType.fromDDL("name STRING"), "UTC");
    assertEquals(ArrowType.Utf8.INSTANCE, schema.getFields().get(0).getType());
  }
}
