package dev.jetsql.endpoints;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Reflection;
import dev.jetsql.rights.Rights;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.RowSet;
import org.apache.hive.service.cli.RowSetFactory;
import org.apache.hive.service.cli.TableSchema;
import org.apache.hive.service.cli.operation.Operation;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry$;
import org.apache.spark.sql.connector.catalog.CatalogManager$;

/** The rows of a metadata operation of the Thrift endpoint that a user may see. */
final class VisibleMetadata {
  private static final String CATALOG = CatalogManager$.MODULE$.SESSION_CATALOG_NAME();

  private VisibleMetadata() {}

  /** Removes the rows of a finished operation with names that the user does not see. */
  static void only(String call, Operation operation, Rights rights, String user)
      throws HiveSQLException {
    Predicate<Object[]> isVisible =
        switch (call) {
          case "GetCatalogs" -> row -> seesCatalog(rights, user, text(row, 0));
          case "GetSchemas" -> row -> rights.seesSchema(user, List.of(CATALOG, text(row, 0)));
          case "GetTables", "GetColumns", "GetPrimaryKeys" -> row -> sees(rights, user, row, 1);
          case "GetCrossReference" ->
              row -> sees(rights, user, row, 1) && sees(rights, user, row, 5);
          case "GetFunctions" -> row -> seesFunction(rights, user, text(row, 1), text(row, 2));
          default -> row -> false;
        };
    try {
      var field = Reflection.field(declaring(operation.getClass()), "rowSet");
      var schema = new TableSchema(operation.getResultSetSchema());
      var visible = RowSetFactory.create(schema, operation.getProtocolVersion(), false);
      for (var row : (RowSet) field.get(operation)) if (isVisible.test(row)) visible.addRow(row);
      field.set(operation, visible);
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Returns the class of Hive that has the rows. */
  private static Class<?> declaring(Class<?> type) throws NoSuchFieldException {
    for (Class<?> each = type; each != null; each = each.getSuperclass())
      for (var field : each.getDeclaredFields()) if (field.getName().equals("rowSet")) return each;
    throw new NoSuchFieldException("rowSet of " + type);
  }

  private static String text(Object[] row, int column) {
    return row[column] == null ? "" : row[column].toString();
  }

  private static boolean seesCatalog(Rights rights, String user, String catalog) {
    return catalog.equals(CATALOG) || rights.seesSchema(user, List.of(catalog));
  }

  /**
   * Returns whether a user sees the table or view of a row. A temporary view, which has no schema,
   * belongs to the session.
   *
   * @param column the index of the column with the schema, before that with the table
   */
  private static boolean sees(Rights rights, String user, Object[] row, int column) {
    var schema = text(row, column);
    return schema.isEmpty() || rights.sees(user, List.of(CATALOG, schema, text(row, column + 1)));
  }

  private static boolean seesFunction(Rights rights, String user, String schema, String name) {
    if (!rights.seesSchema(user, List.of(CATALOG, schema))) return false;
    var function = new FunctionIdentifier(name);
    return FunctionRegistry$.MODULE$.builtin().functionExists(function)
        || TableFunctionRegistry$.MODULE$.builtin().functionExists(function)
        || rights.allowsFunction(user, List.of(CATALOG, schema, name));
  }
}
