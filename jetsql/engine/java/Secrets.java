package dev.jetsql;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.Driver;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
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
 */
public class Secrets {
  private static final String MARK = "secret:";

  /** Whether a value stands for a secret, which is read when it is needed. */
  static boolean isReference(String value) { return value.startsWith(MARK); }

  /** The secret that a value names; every other value as it is. */
  static String reveal(String value) {
    if (value == null || !value.startsWith(MARK)) return value;
    String[] parts = value.split(":", 3);
    if (parts.length == 3 && !parts[2].isEmpty()) {
      if (parts[1].equals("env")) return fromEnvironment(parts[2]);
      if (parts[1].equals("file")) return fromFile(parts[2]);
    }
    throw refusal("'" + value + "' names no secret. Write 'secret:env:NAME' or 'secret:file:PATH'.");
  }

  private static String fromEnvironment(String name) {
    String found = System.getenv(name);
    if (found != null) return found;
    throw refusal("The environment of the engine has no variable " + name + ". Start the engine with it.");
  }

  private static String fromFile(String name) {
    try {
      return Files.readString(Paths.get(name)).stripTrailing();
    } catch (Exception e) {
      throw refusal("The file " + name + ", which should hold a secret, can't be read: " + e.getClass().getSimpleName() + ".");
    }
  }

  private static RuntimeException refusal(String message) {
    return Extension.Answers.raise(Extension.Failure.of("SECRET_NOT_READABLE", "42704", message));
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
    public Connection getConnection(Driver driver, Map options) { return spark.getConnection(driver, revealed(options)); }
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
