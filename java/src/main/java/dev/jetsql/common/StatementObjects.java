package dev.jetsql.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The objects that running statements use, for the audit log. The analyzer and the gates note them
 * on the thread of the statement; who records the statement takes them by its key.
 */
public final class StatementObjects {
  /** The limit of statements whose objects are kept; the oldest are forgotten. */
  private static final int STATEMENTS = 1000;

  private static final int OBJECTS = 1001; // one more than the audit log shows

  private static final String TAGS = "spark.job.tags";
  private static final Pattern COMMA = Pattern.compile(",");
  private static final String CONNECT_TAG = "SparkConnect_OperationTag_";

  private static final Map<String, Noted> statements = new LinkedHashMap<>();
  private static volatile boolean isOn;

  private StatementObjects() {}

  /** Sets whether objects are noted. */
  public static void enable(boolean on) {
    isOn = on;
    synchronized (statements) {
      statements.clear();
    }
  }

  /** Returns whether objects are noted, as there is an audit log. */
  static boolean isEnabled() {
    return isOn;
  }

  /**
   * Returns the key of the statement that this thread runs in a session: its job group, or the tag
   * of its operation at Spark Connect. Returns null if it is no statement of a client, such as a
   * batch of a job, and without an audit log.
   */
  public static String key(SparkSession session) {
    if (!isOn) return null;
    var group = session.sparkContext().getLocalProperty(Callers.GROUP);
    var isOwn = group != null && group.startsWith(Callers.OWN_GROUPS);
    return isOwn || Callers.isClient(session) ? key(session.sparkContext()) : null;
  }

  private static String key(SparkContext context) {
    if (!isOn) return null;
    var tags = context.getLocalProperty(TAGS);
    var group = context.getLocalProperty(Callers.GROUP);
    if (tags == null) return group;
    var operations = COMMA.splitAsStream(tags).filter(tag -> tag.startsWith(CONNECT_TAG));
    return operations.findFirst().orElse(group);
  }

  /**
   * Notes an object.
   *
   * @param key that of the statement, or null
   * @param isAllowed whether the user has the right on it
   */
  public static void note(String key, String right, String object, boolean isAllowed) {
    if (key == null) return;
    synchronized (statements) {
      var objects = of(key).objects;
      if (objects.size() < OBJECTS) objects.add(List.of(right, object, isAllowed));
    }
  }

  /** Notes that a statement runs a command, and not only a query. */
  public static void noteCommand(String key) {
    synchronized (statements) {
      of(key).runsCommand = true;
    }
  }

  private static Noted of(String key) {
    var noted = statements.computeIfAbsent(key, added -> new Noted());
    Iterator<String> oldest = statements.keySet().iterator();
    while (statements.size() > STATEMENTS) {
      oldest.next();
      oldest.remove();
    }
    return noted;
  }

  /** Notes an object that the user of this thread's statement lacks a right on. */
  public static void refuse(String right, Collection<String> name) {
    var context = SparkContext$.MODULE$.getActive();
    if (context.isDefined()) note(key(context.get()), right, String.join(".", name), false);
  }

  /** Notes the objects in a response of Python, for the statement of this thread. */
  static void noteAll(JsonNode objects) {
    var context = SparkContext$.MODULE$.getActive();
    if (objects == null || context.isEmpty()) return;
    var key = key(context.get());
    for (var each : objects)
      note(key, each.get(0).textValue(), each.get(1).textValue(), each.get(2).booleanValue());
  }

  /**
   * Returns the objects of a statement, [[right, name, whether it is allowed]], and forgets them.
   */
  public static String take(String key) {
    return Json.write(taken(key).objects());
  }

  /** Returns what was noted of a statement, and forgets it. */
  public static Taken taken(String key) {
    synchronized (statements) {
      var noted = statements.remove(key);
      return noted == null
          ? new Taken(List.of(), false)
          : new Taken(List.copyOf(noted.objects), noted.runsCommand);
    }
  }

  /** What was noted of a statement. */
  public record Taken(List<List<Object>> objects, boolean runsCommand) {}

  /** What is noted of a statement that runs. */
  private static final class Noted {
    private final Set<List<Object>> objects = new LinkedHashSet<>();
    private boolean runsCommand;
  }
}
