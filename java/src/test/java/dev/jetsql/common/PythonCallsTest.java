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
  void aCallReturnsItsResult() {
    assertEquals("result", PythonCalls.await(() -> "result", null));
  }

  @Test
  void aCallThrowsItsError() {
    var error = new IllegalStateException("of Python");
    var thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                PythonCalls.await(
                    () -> {
                      throw error;
                    },
                    null));
    assertSame(error, thrown);
  }

  @Test
  void anInterruptCancelsTheCall() {
    var cancelled = new CountDownLatch(1);
    Thread.currentThread().interrupt();
    var returned = PythonCalls.await(() -> waited(cancelled), cancelled::countDown);
    assertTrue(Thread.interrupted());
    assertEquals(true, returned);
  }

  private static boolean waited(CountDownLatch latch) {
    try {
      return latch.await(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
