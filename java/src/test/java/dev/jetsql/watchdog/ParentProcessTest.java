package dev.jetsql.watchdog;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ParentProcessTest {
  /** A JVM whose orderly end waits for ever. */
  static final class Busy {
    private Busy() {}

    public static void main(String[] arguments) {
      Runtime.getRuntime().addShutdownHook(new Thread(Busy::waitForEver));
      ParentProcess.watch(Long.parseLong(arguments[0]));
      System.out.println(arguments[0]);
      System.exit(0);
    }

    private static void waitForEver() {
      try {
        Thread.currentThread().join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Test
  void aJvmEndsWithTheProcessThatHasStartedIt() throws Exception {
    var java = System.getProperty("java.home") + "/bin/java";
    var parent = "\"$0\" -Xmx32m -cp \"$1\" \"$2\" $$ & wait";
    // `cat` ends when the parent and the JVM have ended.
    var both = "sh -c '" + parent + "' \"$0\" \"$1\" \"$2\" | cat";
    var classPath = System.getProperty("java.class.path");
    var shell = new ProcessBuilder("sh", "-c", both, java, classPath, Busy.class.getName()).start();
    try (var output = shell.inputReader()) {
      var number = Long.parseLong(output.readLine());
      assertTrue(!shell.waitFor(100, TimeUnit.MILLISECONDS));
      ProcessHandle.of(number).orElseThrow().destroyForcibly();
      assertTrue(shell.waitFor(60, TimeUnit.SECONDS));
    } finally {
      shell.descendants().forEach(ProcessHandle::destroyForcibly);
    }
  }
}
