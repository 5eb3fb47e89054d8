package dev.jetsql.lake;

import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Reflection;
import dev.jetsql.versions.CaseClasses;
import dev.jetsql.versions.SparkCalls;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/**
 * Writes a batch to an Iceberg table with one commit that also notes the batch, and is refused if
 * the table has the batch.
 *
 * <p>The note is a property of the table, the number of the newest batch of a writer. Unlike the
 * summary of a snapshot, it does not expire. Iceberg commits by replacing the metadata of a table
 * if it is still the one that the new metadata is made of. So the note is compared with the
 * metadata that a commit replaces, and added to the new one: of two commits of one batch, in
 * whatever processes, the second is refused.
 *
 * <p>Iceberg's classes are called by reflection, for the reasons of `DeltaAppends`: its
 * `SparkTable` is published only within the runtime of 48 MB. A proxy passes on also the methods
 * that a later release adds to `TableOperations`, where a compiled class would run their defaults.
 */
public final class IcebergCommits {
  /** The beginning of the property's name; the id of the writer follows. */
  private static final String PROPERTY = "jetsql.batch.";

  private IcebergCommits() {}

  /** Returns the newest batch of a writer that is in a table, or -1. */
  public static long newest(SparkSession session, String parts, String writer) {
    var table = CatalogTables.load(session, parts);
    return newest(
        Reflection.call(Reflection.call(table, "table"), "properties"), PROPERTY + writer);
  }

  private static long newest(Object properties, String key) {
    var number = ((Map<?, ?>) properties).get(key);
    return number == null ? -1L : Long.parseLong(number.toString());
  }

  /**
   * Runs an INSERT or a MERGE that writes a batch to a table, and returns the number of rows that
   * its files have, or -1 if it is unknown. Throws Iceberg's exceptions for conflicts, and
   * DELIVERY_INTERRUPTED if the table has the batch.
   *
   * @param parts the parts of the table's qualified name, a JSON array
   */
  public static long run(
      SparkSession session, String parts, String writer, long batch, String statement) {
    return ActiveSession.call(
        session,
        () -> {
          var names = Json.readTexts(parts);
          var identifier = CatalogTables.identifier(names.subList(1, names.size()));
          var table = CatalogTables.load(session, parts);
          var commits = new NotedCommits(Reflection.call(table, "table"), PROPERTY + writer, batch);
          var relation =
              DataSourceV2Relation.create(
                  commits.table(table),
                  Option.apply(SparkCalls.catalog(session, names.get(0))),
                  Option.apply(identifier));
          try {
            Dataset.ofRows(session, withTarget(parse(session, statement), relation));
          } catch (Exception e) { // Scala's methods declare no checked exception
            throw commits.overtaken ? DeltaAppends.overtaken(batch) : Exceptions.raise(e);
          }
          return commits.rows;
        });
  }

  private static LogicalPlan parse(SparkSession session, String statement) {
    try {
      return session.sessionState().sqlParser().parsePlan(statement);
    } catch (ParseException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Returns a statement that writes another relation than the one that it names. */
  private static LogicalPlan withTarget(LogicalPlan statement, LogicalPlan relation) {
    if (statement instanceof InsertIntoStatement || statement instanceof OverwriteByExpression)
      return CaseClasses.copy(statement, Map.of("table", relation));
    if (!(statement instanceof MergeIntoTable merge))
      throw new IllegalArgumentException("no INSERT or MERGE: " + statement.nodeName());
    var target =
        merge
            .targetTable()
            .transformUp(
                PartialFunctions.of(node -> node instanceof UnresolvedRelation, node -> relation));
    return CaseClasses.copy(merge, Map.of("targetTable", target));
  }

  /**
   * The operations of one table, with which a commit of a snapshot notes a batch. They implement
   * Iceberg's interface `TableOperations`, which JetSQL is compiled without.
   */
  private static final class NotedCommits implements InvocationHandler {
    private final Object original;
    private final Object operations;
    private final String key;
    private final long batch;
    private Object branch;
    private long rows;
    private boolean overtaken;

    NotedCommits(Object original, String key, long batch) {
      this.original = original;
      this.operations = Reflection.call(original, "operations");
      this.key = key;
      this.batch = batch;
    }

    /** Returns the table of Spark over these operations. */
    Table table(Table table) {
      var loader = original.getClass().getClassLoader();
      try {
        var type = Class.forName("org.apache.iceberg.TableOperations", true, loader);
        var noted =
            Class.forName("org.apache.iceberg.BaseTable", true, loader)
                .getConstructor(type, String.class)
                .newInstance(
                    Proxy.newProxyInstance(loader, new Class<?>[] {type}, this),
                    Reflection.call(original, "name"));
        var written =
            table
                .getClass()
                .getConstructor(Class.forName("org.apache.iceberg.Table", true, loader))
                .newInstance(noted);
        branch = Reflection.call(table, "branch");
        return (Table)
            (branch == null ? written : Reflection.call(written, "copyWithBranch", branch));
      } catch (InvocationTargetException e) {
        throw Exceptions.raise(e.getCause());
      } catch (ReflectiveOperationException e) {
        throw Exceptions.raise(e);
      }
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      try {
        if (!method.getName().equals("commit")) return method.invoke(operations, arguments);
        if (newest(Reflection.call(arguments[0], "properties"), key) >= batch) throw refused();
        method.invoke(operations, arguments[0], noted(arguments[1]));
        rows = branch == null ? addedRows(Reflection.call(arguments[1], "currentSnapshot")) : -1L;
        return null;
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }

    private Object noted(Object metadata) {
      var builder = Reflection.call(metadata, "buildFrom", metadata);
      Reflection.call(builder, "setProperties", Map.of(key, Long.toString(batch)));
      return Reflection.call(builder, "build");
    }

    /** Returns an exception after which Iceberg deletes the files of the commit. */
    private RuntimeException refused() throws ReflectiveOperationException {
      overtaken = true;
      return Class.forName(
              "org.apache.iceberg.exceptions.ValidationException",
              true,
              original.getClass().getClassLoader())
          .asSubclass(RuntimeException.class)
          .getConstructor(String.class, Object[].class)
          .newInstance("The table has the batch.", new Object[0]);
    }

    private static long addedRows(Object snapshot) {
      var summary = snapshot == null ? null : (Map<?, ?>) Reflection.call(snapshot, "summary");
      var count = summary == null ? null : summary.get("added-records");
      return count == null ? 0L : Long.parseLong(count.toString());
    }
  }
}
