package dev.jetsql.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDate;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExactPostgresDialectTest {
  @ParameterizedTest
  @CsvSource({
    "2018-03-25, false",
    "1582-10-20, true", // may be 1582-10-10
    "2011-12-31, true", // may be 2011-12-30 on a machine in Apia
    "2012-01-01, false",
  })
  void someDaysMayBeOtherOnes(String day, boolean isInexact) {
    assertEquals(isInexact, ExactPostgresDialect.isInexact(LocalDate.parse(day)));
  }

  @Test
  void sparkEvaluatesConditionsWithSuchDays() {
    var days = Math.toIntExact(LocalDate.parse("2011-12-31").toEpochDay());
    var date = new LiteralValue<>(days, DataTypes.DateType);
    var condition = new Predicate("=", new Expression[] {Expressions.column("d"), date});
    assertTrue(new ExactPostgresDialect().compileExpression(condition).isEmpty());
  }
}
