package dev.jetsql.plans;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import dev.jetsql.versions.CaseClasses;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of the tables that the body of a job reads: those that each table had when the
 * statement was run. A column that is added later is not one of the job, so that `SELECT *` stays
 * the same query.
 */
public final class JobColumns {
  private static final ThreadLocal<JobColumns> current = new ThreadLocal<>();

  private final Map<String, List<String>> known = new HashMap<>();
  private final Map<String, List<String>> read = new TreeMap<>();

  /**
   * Creates the columns of a job.
   *
   * @param tables the known columns by the qualified names of their tables, a JSON object; null for
   *     all columns
   */
  public JobColumns(String tables) {
    if (tables == null) return;
    for (Map.Entry<String, JsonNode> table : Json.readObject(tables).properties())
      known.put(key(table.getKey()), Json.texts(table.getValue()));
  }

  /** Runs an analysis that sees only these columns, and notes those of further tables. */
  public <T> T call(Supplier<T> analysis) {
    current.set(this);
    try {
      return analysis.get();
    } finally {
      current.remove();
    }
  }

  /** Returns the columns of the tables that the analyses have read, by qualified names. */
  public Map<String, List<String>> read() {
    return read;
  }

  /** Returns a table with the columns that the analyzed job knows. name: its qualified name */
  public static CatalogTable of(String name, CatalogTable table) {
    JobColumns columns = current.get();
    return columns == null ? table : columns.narrowed(name, table);
  }

  private CatalogTable narrowed(String name, CatalogTable table) {
    CatalogTable narrowed = with(table, known.get(key(name)));
    if (narrowed.schema().length() > 0) read.put(name, List.of(narrowed.schema().fieldNames()));
    return narrowed;
  }

  /** Returns a table with some of its columns. columns: a JSON array; null for all */
  public static CatalogTable with(CatalogTable table, String columns) {
    return columns == null ? table : with(table, Json.readTexts(columns));
  }

  /**
   * Returns a table with some of its columns, and the table itself if it has no others, or if it
   * lacks one of them.
   *
   * @param columns null for all columns
   */
  private static CatalogTable with(CatalogTable table, List<String> columns) {
    if (columns == null || columns.size() >= table.schema().length()) return table;
    StructType kept = new StructType();
    for (StructField column : table.schema().fields())
      if (columns.contains(column.name())) kept = kept.add(column);
    if (kept.length() < columns.size()) return table;
    return CaseClasses.copy(table, Map.of("schema", kept));
  }

  private static String key(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
