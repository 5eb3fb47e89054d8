package dev.jetsql.jdbc;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Reflection;
import dev.jetsql.common.Secrets;
import dev.jetsql.connections.NamedSecrets;
import dev.jetsql.options.JdbcOptions;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.execution.datasources.jdbc.connection.ConnectionProvider$;
import org.apache.spark.sql.execution.datasources.jdbc.connection.ConnectionProviderBase;
import org.apache.spark.sql.jdbc.JdbcConnectionProvider;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * References to secrets in the options of JDBC tables, see `Secrets`.
 *
 * <p>Spark's JDBC source connects when a table is created or read, to read its columns. Therefore
 * the secrets are read in Spark's connection providers. For the tasks, which may run on other
 * machines, they are read before a query is planned.
 */
public final class JdbcSecrets {
  private JdbcSecrets() {}

  /**
   * Wraps each of Spark's connection providers in one that reads secrets. A second call does
   * nothing.
   *
   * <p>The field is private. A provider of a `ServiceLoader`, Spark's public way, cannot wrap
   * another one: Spark refuses a connection that two providers accept. It would have to replace all
   * of Spark's, which the user's static setting `spark.sql.sources.disabledJdbcConnProviderList`
   * disables, too late for a session that runs. A dialect does not know a URL that is itself a
   * secret.
   */
  public static void install() throws ReflectiveOperationException {
    var wrapped = new ArrayList<JdbcConnectionProvider>();
    for (var provider : CollectionConverters.asJava(ConnectionProvider$.MODULE$.providers())) {
      wrapped.add(
          provider instanceof RevealingProvider ? provider : new RevealingProvider(provider));
    }
    Reflection.field(ConnectionProviderBase.class, "providers")
        .set(ConnectionProvider$.MODULE$, CollectionConverters.asScala(wrapped).toSeq());
  }

  /**
   * Refuses a statement that creates a JDBC table with a reference in an option that Spark itself
   * reads.
   */
  public static void check(LogicalPlan command) {
    if (command instanceof CreateTempViewUsing view) {
      if (!"jdbc".equalsIgnoreCase(view.provider())) return;
      CollectionConverters.asJava(view.options())
          .forEach((name, value) -> checkOption(name, value, null));
      return;
    }
    if (!(tableSpec(command) instanceof UnresolvedTableSpec table)) return;
    if (table.provider().isEmpty() || !"jdbc".equalsIgnoreCase(table.provider().get())) return;
    for (var option : CollectionConverters.asJava(table.optionExpression().options())) {
      if (option._2() instanceof Literal value)
        checkOption(option._1(), String.valueOf(value.value()), value.origin());
    }
  }

  private static TableSpecBase tableSpec(LogicalPlan command) {
    if (command instanceof CreateTable create) return create.tableSpec();
    return command instanceof CreateTableAsSelect create ? create.tableSpec() : null;
  }

  private static void checkOption(String name, String value, Origin origin) {
    if (!Secrets.isReference(value) || !isReadBySpark(name)) return;
    throw Secrets.noSecret(origin, name, "Spark itself reads this option. Write the value.");
  }

  /**
   * Returns whether Spark itself reads an option of a JDBC table. It passes all others, and the
   * URL, to the JDBC driver.
   */
  private static boolean isReadBySpark(String name) {
    var key = name.toLowerCase(Locale.ROOT);
    return !key.equals("url") && JdbcOptions.ofSpark().contains(key);
  }

  private static boolean hasReference(Map<String, String> options) {
    return CollectionConverters.asJava(options).values().stream()
        .anyMatch(value -> value != null && Secrets.isReference(value));
  }

  private static Map<String, String> reveal(Map<String, String> options) {
    if (!hasReference(options)) return options;
    var revealed = NamedSecrets.reveal(CollectionConverters.asJava(options));
    return Map$.MODULE$.from(CollectionConverters.asScala(revealed));
  }

  /**
   * Returns the error of a connection for clients: the same error, or a redacted one if a message
   * of it contains a secret.
   */
  private static Exception redact(Exception error) {
    var containsSecret = false;
    for (Throwable throwable = error; throwable != null; throwable = throwable.getCause()) {
      containsSecret |=
          throwable.getMessage() != null
              && !Secrets.redact(throwable.getMessage()).equals(throwable.getMessage());
    }
    if (!containsSecret) return error;
    var state = error instanceof SQLException sql ? sql.getSQLState() : null;
    var redacted = new SQLException(Secrets.redact(String.valueOf(error.getMessage())), state);
    redacted.setStackTrace(error.getStackTrace());
    return redacted;
  }

  /** One of Spark's connection providers, called with secrets in place of the references. */
  private static final class RevealingProvider extends JdbcConnectionProvider {
    private final JdbcConnectionProvider spark;

    RevealingProvider(JdbcConnectionProvider spark) {
      this.spark = spark;
    }

    @Override
    public String name() {
      return spark.name();
    }

    @Override
    public boolean canHandle(Driver driver, Map<String, String> options) {
      return spark.canHandle(driver, options);
    }

    @Override
    public Connection getConnection(Driver driver, Map<String, String> options) {
      try {
        return spark.getConnection(driver, reveal(options));
      } catch (Exception e) {
        throw Exceptions.raise(redact(e));
      }
    }

    @Override
    public boolean modifiesSecurityContext(Driver driver, Map<String, String> options) {
      return spark.modifiesSecurityContext(driver, options);
    }
  }

  /** Replaces the references in the options of a query's JDBC tables by their secrets. */
  public static final class RevealInQueries extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperators(
          PartialFunctions.of(RevealInQueries::hasReferences, RevealInQueries::revealPlan));
    }

    private static boolean hasReferences(LogicalPlan node) {
      if (node instanceof InsertIntoDataSourceCommand insert)
        return hasReferences(insert.logicalRelation());
      return node instanceof LogicalRelation table
          && table.relation() instanceof JDBCRelation jdbc
          && hasReference(jdbc.jdbcOptions().parameters());
    }

    private static LogicalPlan revealPlan(LogicalPlan node) {
      if (node instanceof LogicalRelation table) return revealTable(table);
      var insert = (InsertIntoDataSourceCommand) node;
      return insert.copy(revealTable(insert.logicalRelation()), insert.query(), insert.overwrite());
    }

    private static LogicalRelation revealTable(LogicalRelation table) {
      var jdbc = (JDBCRelation) table.relation();
      var options = new JDBCOptions(reveal(jdbc.jdbcOptions().parameters()));
      var relation =
          jdbc.copy(
              jdbc.schema(), jdbc.parts(), options, jdbc.additionalMetrics(), jdbc.sparkSession());
      return table.copy(
          relation, table.output(), table.catalogTable(), table.isStreaming(), table.stream());
    }
  }
}
