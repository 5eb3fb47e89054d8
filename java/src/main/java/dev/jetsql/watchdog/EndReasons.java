package dev.jetsql.watchdog;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.spark.SparkContext;

/**
 * The reasons for which Spark's application ends. Spark only logs them: the event of the end has no
 * reason, and Spark has no other interface for it. The log comes first, before running jobs fail.
 */
final class EndReasons extends AbstractAppender {
  private static final List<String> LOGGERS =
      List.of(
          "org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend",
          "org.apache.spark.scheduler.cluster.YarnClientSchedulerBackend",
          "org.apache.spark.scheduler.DAGSchedulerEventProcessLoop",
          "org.apache.spark.util.Utils");
  private static final Pattern REASON =
      Pattern.compile(
          "(?:Application has been killed\\. Reason: |Diagnostics message: )(.+)"
              + "|(YARN application has exited unexpectedly with state .+)"
              + "|(DAGSchedulerEventProcessLoop failed; shutting down SparkContext)"
              + "|(uncaught error in thread .+, stopping SparkContext)",
          Pattern.DOTALL);

  private final LoggerContext log =
      (LoggerContext) LogManager.getContext(SparkContext.class.getClassLoader(), false);
  private final Set<String> reasons = new LinkedHashSet<>();

  EndReasons() {
    super("jetsql-end-reasons", null, null, true, Property.EMPTY_ARRAY);
  }

  void attach() {
    start();
    LOGGERS.forEach(name -> log.getLogger(name).addAppender(this));
  }

  void detach() {
    LOGGERS.forEach(name -> log.getLogger(name).removeAppender(this));
    stop();
  }

  @Override
  public synchronized void append(LogEvent event) {
    Matcher found = REASON.matcher(event.getMessage().getFormattedMessage());
    if (!found.matches()) return;
    for (int group = 1; group <= found.groupCount(); group++) {
      if (found.group(group) != null) reasons.add(sentence(found.group(group)));
    }
    if (event.getThrown() != null) reasons.add(sentence(event.getThrown().toString()));
  }

  /** Returns the reasons as sentences; an empty text without one. */
  synchronized String text() {
    return String.join(" ", reasons);
  }

  private static String sentence(String reason) {
    String line = reason.strip().replaceAll("\\s+", " ");
    return line.matches(".*[.!?]") ? line : line + ".";
  }
}
