package dev.jetsql.rights.gates;

import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.TableNames;
import dev.jetsql.common.Exceptions;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Right;
import dev.jetsql.rights.Rights;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The procedures of Iceberg that users without ADMIN may CALL. Each reads or changes the table of
 * its first argument. Spark runs a procedure while it resolves the statement.
 */
final class Procedures {
  private static final Map<String, Right> RIGHTS =
      Map.ofEntries(
          Map.entry("ancestors_of", Right.SELECT),
          Map.entry("cherrypick_snapshot", Right.MODIFY),
          Map.entry("expire_snapshots", Right.MODIFY),
          Map.entry("fast_forward", Right.MODIFY),
          Map.entry("publish_changes", Right.MODIFY),
          Map.entry("rewrite_data_files", Right.MODIFY),
          Map.entry("rewrite_manifests", Right.MODIFY),
          Map.entry("rewrite_position_delete_files", Right.MODIFY),
          Map.entry("rollback_to_snapshot", Right.MODIFY),
          Map.entry("rollback_to_timestamp", Right.MODIFY),
          Map.entry("set_current_snapshot", Right.MODIFY),
          // Their results name files.
          Map.entry("compute_partition_stats", Right.OWNER),
          Map.entry("compute_table_stats", Right.OWNER));

  private static final String SCHEMA = "system";
  private static final String TABLE = "table";
  private static final String WHERE = "where";

  private Procedures() {}

  /**
   * Checks the right of a CALL, and returns the texts of conditions in it, which Iceberg analyzes.
   */
  static List<String> check(SparkSession session, Rights rights, String user, Call call) {
    var procedure = (UnresolvedProcedure) call.procedure();
    var parts = TableNames.qualified(session, Plans.list(procedure.nameParts()));
    var name = parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
    var isOfIceberg =
        parts.size() == 3
            && parts.get(1).equalsIgnoreCase(SCHEMA)
            && CatalogTables.isOfIceberg(SparkCalls.catalog(session, parts.get(0)));
    var right = isOfIceberg ? RIGHTS.get(name) : null;
    if (right == null)
      throw Refusals.onlyAdmin(
          call.origin(), "CALL of " + name, "it can name files or run code of its own");
    var table = table(session, parts.get(0), call);
    if (!rights.sees(user, table))
      throw Refusals.notFound(session, call.origin(), table.subList(1, table.size()));
    if (!rights.allows(user, right, table))
      throw Refusals.missing(call.origin(), user, right, table);
    return conditions(call);
  }

  /** Returns the qualified name of the table in a CALL, as Iceberg reads it. */
  private static List<String> table(SparkSession session, String catalog, Call call) {
    var text = text(argument(call));
    if (text == null)
      throw Refusals.onlyAdmin(
          call.origin(), "an expression for the table of a procedure", "write its name as a text");
    try {
      var parts =
          new ArrayList<>(
              Plans.list(session.sessionState().sqlParser().parseMultipartIdentifier(text)));
      if (parts.size() > 2 && parts.get(0).equals(catalog)) parts.remove(0);
      if (parts.size() < 2)
        throw Refusals.onlyAdmin(
            call.origin(), "a table of a procedure without its schema", "write SCHEMA.TABLE");
      parts.add(0, catalog);
      return parts;
    } catch (ParseException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Returns the argument with the table: the one with this name, or the first, or null. */
  private static Expression argument(Call call) {
    for (var argument : Plans.list(call.args()))
      if (argument instanceof NamedArgumentExpression named && named.key().equalsIgnoreCase(TABLE))
        return named.value();
    if (call.args().isEmpty() || call.args().head() instanceof NamedArgumentExpression) return null;
    return call.args().head();
  }

  private static List<String> conditions(Call call) {
    var conditions = new ArrayList<String>();
    var place = 0;
    for (var argument : Plans.list(call.args())) {
      var isNamed = argument instanceof NamedArgumentExpression;
      // The conditions of all procedures come after their second argument.
      if (!isNamed && ++place > 2)
        throw Refusals.onlyAdmin(
            call.origin(), "more than two arguments without names", "write NAME => VALUE");
      if (argument instanceof NamedArgumentExpression named
          && named.key().equalsIgnoreCase(WHERE)) {
        var condition = text(named.value());
        if (condition == null)
          throw Refusals.onlyAdmin(
              call.origin(), "an expression for the argument where", "write a text");
        conditions.add(condition);
      }
    }
    return conditions;
  }

  private static String text(Expression argument) {
    return argument instanceof Literal literal && literal.value() instanceof UTF8String text
        ? text.toString()
        : null;
  }
}
