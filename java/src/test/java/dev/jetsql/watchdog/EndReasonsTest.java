package dev.jetsql.watchdog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class EndReasonsTest {
  private static final String BACKENDS = "org.apache.spark.scheduler.cluster.";
  private final EndReasons reasons = new EndReasons();

  @BeforeEach
  void attach() {
    reasons.attach();
  }

  @AfterEach
  void detach() {
    reasons.detach();
  }

  @Test
  void aMasterRemovesTheApplication() {
    log(
        BACKENDS + "StandaloneSchedulerBackend",
        "Application has been killed. Reason: Master removed our application: FAILED");
    assertEquals("Master removed our application: FAILED.", reasons.text());
  }

  @Test
  void yarnEndsTheApplicationWithItsDiagnosticsOfSeveralLines() {
    log(
        BACKENDS + "YarnClientSchedulerBackend",
        "YARN application has exited unexpectedly with state KILLED! Check its logs.");
    log(BACKENDS + "YarnClientSchedulerBackend", "Diagnostics message: Killed\n  by user ann");
    assertEquals(
        "YARN application has exited unexpectedly with state KILLED! Check its logs."
            + " Killed by user ann.",
        reasons.text());
  }

  @Test
  void aSchedulerThatFailsNamesItsError() {
    LoggerFactory.getLogger("org.apache.spark.scheduler.DAGSchedulerEventProcessLoop")
        .error(
            "DAGSchedulerEventProcessLoop failed; shutting down SparkContext",
            new IllegalStateException("no task"));
    assertEquals(
        "DAGSchedulerEventProcessLoop failed; shutting down SparkContext."
            + " java.lang.IllegalStateException: no task.",
        reasons.text());
  }

  @Test
  void otherErrorsAreNoReasons() {
    log(BACKENDS + "StandaloneSchedulerBackend", "Lost executor 0: it was killed.");
    log("org.apache.spark.scheduler.TaskSetManager", "Application has been killed. Reason: none");
    reasons.detach();
    log(BACKENDS + "StandaloneSchedulerBackend", "Application has been killed. Reason: late");
    assertEquals("", reasons.text());
  }

  private static void log(String logger, String message) {
    LoggerFactory.getLogger(logger).error(message);
  }
}
