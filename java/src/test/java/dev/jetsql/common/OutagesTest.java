package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.internal.SQLConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OutagesTest {
  private static long timeout(String time) {
    var conf = new SQLConf();
    conf.setConfString(Outages.TIMEOUT, time);
    return Outages.timeoutMillis(conf);
  }

  @Test
  void readsTimes() {
    assertEquals(10_000, Outages.timeoutMillis(new SQLConf()));
    assertEquals(10_000, Outages.timeoutMillis());
    assertEquals(90_000, timeout("90s"));
    assertEquals(120_000, timeout("2min"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"soon", "0", "999", "-5s", ""})
  void refusesOtherValues(String time) {
    var error = assertThrows(JetSqlException.class, () -> timeout(time));
    assertTrue(error.getMessage().contains("'" + time + "'"));
  }
}
