package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class PythonCallsTest {
  @Test
  void aCallReturnsWhatPythonReturns() {
    assertEquals(
        "session spark.sql  text",
        PythonCalls.ask((session, text) -> session + " " + text, "session", "text"));
  }

  @Test
  void aCallThrowsWhatPythonThrows() {
    var error = new IllegalStateException("of Python");
    var thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                PythonCalls.ask(
                    (session, text) -> {
                      throw error;
                    },
                    null,
                    ""));
    assertSame(error, thrown);
  }

  @Test
  void anInterruptCancelsTheStatementOfTheCall() {
    var cancelled = new CountDownLatch(1);
    var number = new String[1];
    PythonCalls.connect(
        each -> {
          number[0] = each;
          cancelled.countDown();
        });
    Thread.currentThread().interrupt();
    var returned = PythonCalls.run((session, text) -> waited(cancelled) + text, null, "SELECT 1");
    PythonCalls.connect(null);
    assertTrue(Thread.interrupted());
    assertEquals("true" + number[0] + " spark.sql  SELECT 1", returned);
  }

  private static boolean waited(CountDownLatch latch) {
    try {
      return latch.await(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
