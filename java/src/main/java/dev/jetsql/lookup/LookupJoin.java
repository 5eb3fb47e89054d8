package dev.jetsql.lookup;

import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * A join of a stream with a JDBC table that reads only the rows of the stream's keys.
 *
 * @param stream the side of the stream
 * @param table the side of the table: projections and filters over it
 * @param relation the table
 * @param keys the columns by which rows are read; at least one
 */
record LookupJoin(
    Join join, LogicalPlan stream, LogicalPlan table, LogicalRelation relation, List<Key> keys) {
  /** Types whose values Spark and each database write and compare alike. */
  private static final Set<DataType> EXACT =
      Set.of(
          DataTypes.ByteType,
          DataTypes.ShortType,
          DataTypes.IntegerType,
          DataTypes.LongType,
          DataTypes.DateType);

  /** Databases in whose strings a backslash is no escape. */
  private static final List<String> PLAIN_STRINGS =
      List.of("postgresql", "derby", "h2", "sqlserver", "oracle", "db2");

  /**
   * A column of the table and its value in the stream.
   *
   * @param value the stream's expression
   * @param output the column in the output of the table's side
   * @param column the column's name in the database
   */
  record Key(Expression value, Attribute output, String column) {}

  /** Returns the lookup that a join can be, or null. */
  static LookupJoin of(Join join) {
    var isLeft = join.left().isStreaming();
    if (isLeft == join.right().isStreaming() || hasHint(join)) return null;
    var type = join.joinType();
    var keepsStream = type.equals(isLeft ? LeftOuter$.MODULE$ : RightOuter$.MODULE$);
    if (!type.equals(Inner$.MODULE$) && !keepsStream) return null;
    var table = isLeft ? join.right() : join.left();
    var relation = relation(table);
    if (relation == null || !options(relation).enabled()) return null;
    var keys = keys(join, isLeft, table, relation);
    return keys.isEmpty()
        ? null
        : new LookupJoin(join, isLeft ? join.left() : join.right(), table, relation, keys);
  }

  LookupOptions options() {
    return options(relation);
  }

  boolean isInner() {
    return join.joinType().equals(Inner$.MODULE$);
  }

  String tableName() {
    var table = relation.catalogTable();
    return table.isDefined()
        ? table.get().identifier().table()
        : jdbc(relation).jdbcOptions().tableOrQuery();
  }

  String url() {
    return jdbc(relation).jdbcOptions().url();
  }

  /** Returns a text that differs for sides with other rows or columns. */
  String identity() {
    var options = jdbc(relation).jdbcOptions();
    var text = new StringBuilder(options.url() + '\n' + options.tableOrQuery() + '\n');
    text.append(options.parameters().get("user")).append('\n');
    var entry = relation.catalogTable();
    if (entry.isDefined())
      text.append(entry.get().qualifiedName()).append(' ').append(entry.get().createTime());
    table.foreach(
        node -> {
          for (var part : Plans.list(node.expressions())) text.append('\n').append(part.sql());
          return null;
        });
    text.append('\n').append(table.schema().catalogString());
    keys.forEach(key -> text.append('\n').append(key.column()));
    return text.toString();
  }

  private static JDBCRelation jdbc(LogicalRelation relation) {
    return (JDBCRelation) relation.relation();
  }

  private static LookupOptions options(LogicalRelation relation) {
    return LookupOptions.of(jdbc(relation).jdbcOptions());
  }

  private static boolean hasHint(Join join) {
    return join.hint().leftHint().isDefined() || join.hint().rightHint().isDefined();
  }

  /**
   * Returns the JDBC table below projections and filters that give a row the same result, or null.
   */
  private static LogicalRelation relation(LogicalPlan side) {
    for (var node = side; ; node = node.children().head()) {
      if (node instanceof LogicalRelation table)
        return table.relation() instanceof JDBCRelation ? table : null;
      if (!(node instanceof Project) && !(node instanceof Filter)) return null;
      if (!node.deterministic() || !node.subqueries().isEmpty()) return null;
    }
  }

  private static List<Key> keys(
      Join join, boolean isLeft, LogicalPlan table, LogicalRelation relation) {
    var keys = new ArrayList<Key>();
    var found = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (found.isEmpty() || join.condition().get().exists(LookupJoin::isUnsafe)) return keys;
    var values = Plans.list(isLeft ? found.get()._2() : found.get()._3());
    var columns = Plans.list(isLeft ? found.get()._3() : found.get()._2());
    for (int i = 0; i < values.size(); i++) {
      if (!(columns.get(i) instanceof AttributeReference output)) continue;
      var column = column(output, table);
      if (column != null && isComparable(column.dataType(), relation))
        keys.add(new Key(values.get(i), output, column.name()));
    }
    return keys;
  }

  private static boolean isUnsafe(Expression expression) {
    return !expression.deterministic()
        || expression instanceof org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
  }

  /** Returns the table's column that an output of its side is, or null for a computed one. */
  private static Attribute column(Attribute output, LogicalPlan side) {
    Expression column = output;
    for (var node = side; !(node instanceof LogicalRelation); node = node.children().head()) {
      if (node instanceof Project project) column = definition(column, project);
      if (!(column instanceof AttributeReference)) return null;
    }
    return (Attribute) column;
  }

  private static Expression definition(Expression output, Project project) {
    for (NamedExpression named : Plans.list(project.projectList())) {
      if (named instanceof Alias alias && alias.exprId().equals(((Attribute) output).exprId()))
        return alias.child();
    }
    return output;
  }

  private static boolean isComparable(DataType type, LogicalRelation relation) {
    if (EXACT.contains(type) || type instanceof DecimalType) return true;
    var url = jdbc(relation).jdbcOptions().url();
    return type.equals(DataTypes.StringType)
        && PLAIN_STRINGS.stream().anyMatch(name -> url.startsWith("jdbc:" + name));
  }
}
