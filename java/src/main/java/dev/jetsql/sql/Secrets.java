package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions$;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.execution.datasources.jdbc.connection.ConnectionProvider$;
import org.apache.spark.sql.execution.datasources.jdbc.connection.ConnectionProviderBase;
import org.apache.spark.sql.jdbc.JdbcConnectionProvider;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Options that name a secret instead of holding it: `secret:env:NAME`, `secret:file:PATH`.
 *
 * The catalogue keeps what was written. The secret is read here, by the driver, when something connects: Spark's JDBC
 * source looks for the columns of a table as soon as it is made or read, so its own way to a connection is taken; and
 * for the tasks, which may run elsewhere, a query's tables are given their secrets before it is planned.
 *
 * What was read is remembered, so that it can be taken out of the messages of errors: drivers and clients show the values
 * that they refuse.
 */
public class Secrets {
  private static final String MARK = "secret:";
  private static final String HIDDEN = "***";
  private static final int MOST_BYTES = 64 * 1024;
  private static final int MOST_REMEMBERED = 1000;
  private static final int LEAST_HIDDEN = 3; // hiding every "a" in a message would protect nothing
  private static final int LEAST_PIECE = 12;
  private static final String OPTION_NAMES =
      "org$apache$spark$sql$execution$datasources$jdbc$JDBCOptions$$jdbcOptionNames";

  private static final Remembered remembered = new Remembered();
  private static volatile Pattern names;

  /** The values that were read, those that were used last at the end. */
  static class Remembered extends LinkedHashMap {
    Remembered() { super(16, 0.75f, true); }

    protected boolean removeEldestEntry(java.util.Map.Entry eldest) { return size() > MOST_REMEMBERED; }
  }

  /** Set what the names of secret options look like: Python's `SECRET_NAMES`. */
  static void setNames(String pattern) { names = Pattern.compile(pattern); }

  /** Return whether an option of this name holds a secret. */
  public static boolean isName(String option) { return names.matcher(option).find(); }

  /** Whether a value stands for a secret, which is read when it is needed. */
  public static boolean isReference(String value) { return value.startsWith(MARK); }

  /** The secret that a value names; every other value as it is. */
  public static String reveal(String value) {
    if (value == null || !value.startsWith(MARK)) return value;
    String[] parts = value.split(":", 3);
    if (parts.length == 3 && !parts[2].isEmpty()) {
      if (parts[1].equals("env")) return remembered(fromEnvironment(parts[2]));
      if (parts[1].equals("file")) return remembered(fromFile(parts[2]));
    }
    throw refusal("'" + value + "' names no secret. Write 'secret:env:NAME' or 'secret:file:PATH'.");
  }

  private static String fromEnvironment(String name) {
    String found = System.getenv(name);
    if (found != null) return found;
    throw refusal("The environment of the engine has no variable " + name + ". Start the engine with it.");
  }

  private static String fromFile(String name) {
    byte[] read;
    try {
      InputStream file = Files.newInputStream(Paths.get(name));
      try {
        read = file.readNBytes(MOST_BYTES + 1);
      } finally {
        file.close();
      }
    } catch (Exception e) {
      throw refusal("The file " + name + ", which should hold a secret, can't be read: " + e.getClass().getSimpleName() + ".");
    }
    if (read.length > MOST_BYTES) {
      throw refusal("The file " + name + " holds no secret: it has more than " + MOST_BYTES / 1024 + " KiB.");
    }
    return new String(read, StandardCharsets.UTF_8).stripTrailing();
  }

  private static String remembered(String value) {
    synchronized (remembered) {
      remembered.put(value, Boolean.TRUE);
    }
    return value;
  }

  /** Return a message without the secrets that were read: without a whole one, a line of one, or a longer piece. */
  static String hide(String message) {
    if (message == null) return null;
    String shown = message;
    Object[] values;
    synchronized (remembered) {
      values = remembered.keySet().toArray();
    }
    for (int i = 0; i < values.length; i++) shown = without(shown, (String) values[i]);
    return shown;
  }

  private static String without(String message, String secret) {
    String shown = secret.length() < LEAST_HIDDEN ? message : message.replace(secret, HIDDEN);
    String[] lines = secret.split("\\R");
    for (int i = 0; i < lines.length; i++) {
      String line = lines[i].trim();
      if (line.length() >= LEAST_HIDDEN) shown = shown.replace(line, HIDDEN);
    }
    return withoutPieces(shown, secret);
  }

  /** Servers cut what they quote, so a piece of a secret may be in a message. */
  private static String withoutPieces(String message, String secret) {
    if (secret.length() < LEAST_PIECE) return message;
    StringBuilder shown = new StringBuilder();
    int at = 0;
    while (at < message.length()) {
      int stop = at + LEAST_PIECE;
      if (stop > message.length() || !secret.contains(message.substring(at, stop))) {
        shown.append(message.charAt(at++));
        continue;
      }
      while (stop < message.length() && secret.contains(message.substring(at, stop + 1))) stop++;
      shown.append(HIDDEN);
      at = stop;
    }
    return shown.toString();
  }

  /** Return an error of a connection as clients may see it: the same one, unless a message in it shows a secret. */
  private static Exception shown(Exception error) {
    boolean shows = false;
    for (Throwable each = error; each != null; each = each.getCause()) {
      shows |= each.getMessage() != null && !hide(each.getMessage()).equals(each.getMessage());
    }
    if (!shows) return error;
    String state = error instanceof SQLException ? ((SQLException) error).getSQLState() : null;
    SQLException found = new SQLException(hide(String.valueOf(error.getMessage())), state);
    found.setStackTrace(error.getStackTrace());
    return found;
  }

  /** Refuse a statement that makes a JDBC table with a reference where Spark itself reads the option. */
  static void check(LogicalPlan command) {
    if (command instanceof CreateTempViewUsing && "jdbc".equalsIgnoreCase(((CreateTempViewUsing) command).provider())) {
      Iterator each = ((CreateTempViewUsing) command).options().iterator();
      while (each.hasNext()) checkOption((Tuple2) each.next(), null);
      return;
    }
    Object spec = command instanceof CreateTable ? ((CreateTable) command).tableSpec()
        : command instanceof CreateTableAsSelect ? ((CreateTableAsSelect) command).tableSpec() : null;
    if (!(spec instanceof UnresolvedTableSpec)) return;
    UnresolvedTableSpec table = (UnresolvedTableSpec) spec;
    if (table.provider().isEmpty() || !"jdbc".equalsIgnoreCase((String) table.provider().get())) return;
    Iterator each = table.optionExpression().options().iterator();
    while (each.hasNext()) {
      Tuple2 option = (Tuple2) each.next();
      if (!(option._2() instanceof Literal)) continue;
      checkOption(new Tuple2(option._1(), String.valueOf(((Literal) option._2()).value())), ((Expression) option._2()).origin());
    }
  }

  private static void checkOption(Tuple2 option, Origin place) {
    String name = (String) option._1();
    String value = String.valueOf(option._2());
    if (!isReference(value) || !isSparks(name)) return;
    throw noSecret(place, name, "Spark reads it before anything connects, and it holds no secret. Write its value.");
  }

  /** Return whether Spark itself reads an option of a JDBC table; all others are the driver's, and so is the URL. */
  private static boolean isSparks(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    try {
      Object found = JDBCOptions$.class.getMethod(OPTION_NAMES, new Class[0]).invoke(JDBCOptions$.MODULE$, new Object[0]);
      return !key.equals("url") && ((scala.collection.mutable.Set) found).contains(key);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  /** place: null where a statement has none. */
  public static RuntimeException noSecret(Origin place, String option, String why) {
    String message = "The option '" + option + "' can't name a secret: " + why;
    return Exceptions.raise(place == null ? JetSqlException.of("INVALID_OPTION_VALUE", "22023", message)
        : JetSqlException.at(place, "INVALID_OPTION_VALUE", "22023", message));
  }

  private static RuntimeException refusal(String message) {
    return Exceptions.raise(JetSqlException.of("SECRET_NOT_READABLE", "42704", message));
  }

  private static boolean has(Map options) {
    Iterator values = options.valuesIterator();
    while (values.hasNext()) {
      Object value = values.next();
      if (value instanceof String && ((String) value).startsWith(MARK)) return true;
    }
    return false;
  }

  private static Map revealed(Map options) {
    if (!has(options)) return options;
    Map found = options;
    Iterator entries = options.iterator();
    while (entries.hasNext()) {
      Tuple2 entry = (Tuple2) entries.next();
      found = (Map) found.updated(entry._1(), reveal((String) entry._2()));
    }
    return found;
  }

  /** Put Spark's ways to a connection behind ours; again is fine. */
  static void install() throws Exception {
    Seq providers = ConnectionProvider$.MODULE$.providers();
    List wrapped = new ArrayList();
    Iterator each = providers.iterator();
    while (each.hasNext()) {
      JdbcConnectionProvider provider = (JdbcConnectionProvider) each.next();
      wrapped.add(provider instanceof Revealing ? provider : new Revealing(provider));
    }
    Field field = ConnectionProviderBase.class.getDeclaredField("providers");
    field.setAccessible(true);
    field.set(ConnectionProvider$.MODULE$, CollectionConverters.asScala(wrapped).toSeq());
  }

  static class Revealing extends JdbcConnectionProvider {
    private final JdbcConnectionProvider spark;

    Revealing(JdbcConnectionProvider spark) { this.spark = spark; }

    public String name() { return spark.name(); }
    public boolean canHandle(Driver driver, Map options) { return spark.canHandle(driver, options); }
    public Connection getConnection(Driver driver, Map options) {
      try {
        return spark.getConnection(driver, revealed(options));
      } catch (Exception e) {
        throw Exceptions.raise(shown(e));
      }
    }
    public boolean modifiesSecurityContext(Driver driver, Map options) {
      return spark.modifiesSecurityContext(driver, options);
    }
  }

  /** The JDBC tables of a query with their secrets in place of the names of these. */
  public static class InQueries extends AbstractFunction1 {
    public Object apply(Object session) { return new InQueriesRule(); }
  }

  public static class InQueriesRule extends Rule {
    public TreeNode apply(TreeNode plan) { return ((LogicalPlan) plan).resolveOperators(new OnTable()); }
  }

  static class OnTable extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      if (node instanceof InsertIntoDataSourceCommand) return isDefinedAt(((InsertIntoDataSourceCommand) node).logicalRelation());
      if (!(node instanceof LogicalRelation) || !(((LogicalRelation) node).relation() instanceof JDBCRelation)) return false;
      return has(((JDBCRelation) ((LogicalRelation) node).relation()).jdbcOptions().parameters());
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      if (node instanceof LogicalRelation) return revealedTable((LogicalRelation) node);
      InsertIntoDataSourceCommand insert = (InsertIntoDataSourceCommand) node;
      return insert.copy(revealedTable(insert.logicalRelation()), insert.query(), insert.overwrite());
    }

    private static LogicalRelation revealedTable(LogicalRelation table) {
      JDBCRelation jdbc = (JDBCRelation) table.relation();
      JDBCOptions options = new JDBCOptions(revealed((Map) jdbc.jdbcOptions().parameters()));
      JDBCRelation relation =
          jdbc.copy(jdbc.schema(), jdbc.parts(), options, jdbc.additionalMetrics(), jdbc.sparkSession());
      return table.copy(relation, table.output(), table.catalogTable(), table.isStreaming(), table.stream());
    }
  }
}
