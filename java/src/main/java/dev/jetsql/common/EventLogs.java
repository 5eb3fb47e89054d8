package dev.jetsql.common;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.EventLoggingListener;

/**
 * The event logs of Spark without the secrets of jobs. Spark itself redacts the settings of the
 * engine there, and writes those of sessions in clear.
 */
public final class EventLogs {
  private EventLogs() {}

  /**
   * Makes the event log of a context redact the secrets of all sessions. The field is private: the
   * log has no setting for what it redacts of sessions.
   */
  public static void redactSessions(SparkContext context) throws ReflectiveOperationException {
    var logger = context.eventLogger();
    if (logger.isEmpty()) return;
    var conf = Reflection.field(EventLoggingListener.class, "sparkConf");
    if (conf.get(logger.get()) instanceof WithSessions) return;
    conf.set(logger.get(), new WithSessions(context.conf()));
  }

  /** Settings that count the secrets of sessions among them, as the event log asks for them. */
  private static final class WithSessions extends SparkConf {
    private static final long serialVersionUID = 1L;

    WithSessions(SparkConf given) {
      super(false);
      for (var setting : given.getAll()) set(setting._1(), setting._2());
    }

    @Override
    public boolean contains(String name) {
      return super.contains(name) || Secrets.isName(name);
    }
  }
}
