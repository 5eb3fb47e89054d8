package dev.jetsql.rights.gates;

import dev.jetsql.common.Json;
import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * DESCRIBE TABLE EXTENDED for a user who does not own the table or view: its columns, and those
 * facts that show neither what a view reads nor where files are.
 */
public final class VisibleDescription extends LeafCommand {
  private static final long serialVersionUID = 1L;

  /** The row after the columns, and after those of partitions. */
  private static final String FACTS = "# Detailed Table Information";

  private static final String COLUMNS = "Schema";

  private static final Set<String> VISIBLE_FACTS =
      Set.of(
          "Bucket Columns",
          "Catalog",
          "Collation",
          "Comment",
          "Created By",
          "Created Time",
          "Database",
          "Last Access",
          "Num Buckets",
          "Owner",
          "Partition Provider",
          "Provider",
          "Sort Columns",
          "Statistics",
          "Table",
          "Type");
  private static final Set<String> VISIBLE_KEYS =
      Set.of(
          "bucket_columns",
          "catalog_name",
          "clustering_information",
          "collation",
          "columns",
          "comment",
          "created_by",
          "created_time",
          "last_access",
          "namespace",
          "num_buckets",
          "owner",
          "partition_columns",
          "partition_provider",
          "provider",
          "schema_name",
          "sort_columns",
          "statistics",
          "table_name",
          "type");

  private final transient RunnableCommand describe;
  private final boolean isJson;

  /** Creates the statement; Spark copies it with this constructor. */
  public VisibleDescription(RunnableCommand describe, Boolean isJson) {
    super(describe, isJson);
    this.describe = describe;
    this.isJson = isJson;
  }

  @Override
  public Seq<Attribute> output() {
    return ((LogicalPlan) describe).output();
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    var rows = CollectionConverters.asJava(describe.run(session));
    return Sequences.of(isJson ? rows.stream().map(VisibleDescription::json).toList() : text(rows));
  }

  /**
   * Returns the columns of a table or view and its visible facts, as SHOW TABLE EXTENDED has them.
   */
  static String of(org.apache.spark.sql.classic.SparkSession session, String schema, String name) {
    var table =
        session
            .sessionState()
            .catalog()
            .getTempViewOrPermanentTableMetadata(new TableIdentifier(name, Option.apply(schema)));
    var visible = new StringBuilder();
    for (var fact : CollectionConverters.asJava(table.toLinkedHashMap()).entrySet())
      if (fact.getKey().equals(COLUMNS) || VISIBLE_FACTS.contains(fact.getKey()))
        visible.append(fact.getKey()).append(": ").append(fact.getValue()).append('\n');
    return visible.toString();
  }

  private static Row json(Row row) {
    var facts = Json.readObject(row.getString(0));
    facts.retain(VISIBLE_KEYS);
    return RowFactory.create(facts.toString());
  }

  private static List<Row> text(List<Row> rows) {
    var visible = new ArrayList<Row>();
    var isFact = false;
    for (var row : rows) {
      if (!isFact || VISIBLE_FACTS.contains(row.getString(0))) visible.add(row);
      isFact |= row.getString(0).equals(FACTS);
    }
    return visible;
  }
}
