package dev.jetsql.common;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Reports the secrets that are read, and the connections that jobs use, for the audit log. A
 * statement, and a run of a job, reports each of them once: a job may read a secret for each batch.
 */
public final class SecretAudit {
  private static final int MOST = 10_000;
  private static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final List<String> ADDRESSES =
      List.of("url", "kafka.bootstrap.servers", "bootstrap.servers", "schema.registry.url");

  private static final Map<List<String>, Long> noted =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<List<String>, Long> eldest) {
          return size() > MOST;
        }
      };
  private static final ThreadLocal<Reader> readers = new ThreadLocal<>();

  private SecretAudit() {}

  /**
   * The reader of secrets on a thread.
   *
   * @param user whom it reads for if the session is one of the engine itself
   */
  private record Reader(SparkSession session, String user) {
    String principal() {
      var principal = session == null ? null : Principals.of(session);
      return user != null && (principal == null || principal.equals(Principals.SYSTEM))
          ? user
          : principal;
    }

    String conf(String name) {
      return session == null ? "" : session.sessionState().conf().getConfString(name, "");
    }

    /** Returns the statement or the run of a job that the thread works for, or an empty text. */
    String group() {
      var group = session == null ? null : session.sparkContext().getLocalProperty(Callers.GROUP);
      return group == null ? "" : group;
    }
  }

  /** Reads secrets for a session, and a user if the session is one of the engine itself. */
  public static <T> T readFor(SparkSession session, String user, Supplier<T> read) {
    readers.set(new Reader(session, user));
    try {
      return read.get();
    } finally {
      readers.remove();
    }
  }

  /**
   * Notes that a secret was read, or could not be read.
   *
   * @param value the reference to it
   * @param options of the table or the connection
   * @param condition of the error; an empty text without one
   */
  public static void noteRead(
      String option, String value, Map<String, String> options, String condition) {
    note("secret read", value, purpose(option, options), condition);
  }

  /** Notes that a table of this thread's statement, or of its job, has a connection. */
  public static void noteConnection(String name) {
    var reader = reader();
    if (reader.session() == null) return;
    if (reader.conf(JobContext.JOB_CONF).isEmpty())
      StatementObjects.note(
          StatementObjects.key(reader.session()),
          "USAGE",
          "CONNECTION " + name.toLowerCase(Locale.ROOT),
          true);
    else note("connection use", name.toLowerCase(Locale.ROOT), "", "");
  }

  private static void note(String event, String name, String purpose, String condition) {
    if (!StatementObjects.isEnabled() || !EngineCallback.isConnected()) return;
    var reader = reader();
    var request = new HashMap<String, String>();
    request.put("event", event);
    request.put("name", name);
    request.put("purpose", purpose);
    request.put("user", reader.principal());
    request.put("job", reader.conf(JobContext.JOB_CONF));
    request.put("owner", reader.conf(JobContext.OWNER_CONF));
    request.put("condition", condition);
    if (isNew(new ArrayList<>(request.values()), reader.group()))
      EngineCallback.AUDIT_SECRET.ask(reader.session(), request);
  }

  /** Returns whether the statement or the run did not report it, or not in the last minute. */
  private static boolean isNew(List<String> key, String group) {
    key.add(group);
    var now = System.nanoTime();
    synchronized (noted) {
      var before = noted.put(key, now);
      return before == null || (group.isEmpty() && now - before >= IDLE_NANOS);
    }
  }

  private static Reader reader() {
    var reader = readers.get();
    return reader == null ? new Reader(Callers.session(null), null) : reader;
  }

  /** Returns the option and the address that a secret is for, a phrase. */
  private static String purpose(String option, Map<String, String> options) {
    var address =
        options.entrySet().stream()
            .filter(each -> ADDRESSES.contains(each.getKey().toLowerCase(Locale.ROOT)))
            .map(Map.Entry::getValue)
            .sorted()
            .findFirst();
    return "the option " + option + address.map(" of "::concat).orElse("");
  }
}
