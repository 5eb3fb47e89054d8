package dev.jetsql.rewrites.patterns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.flink.FlinkText;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

/**
 * The way of MATCH_RECOGNIZE from its text to its result, with Spark's parser and analyzer alone.
 */
class PatternMatchesTest {
  private static final long SECOND = 1_000_000;
  private static final Analyzer ANALYZER =
      new Analyzer(
          new SessionCatalog(
              new InMemoryCatalog(new SparkConf(false), new org.apache.hadoop.conf.Configuration()),
              FunctionRegistry.builtin()));

  /** Rows of two keys, in a wrong order; the key b has equal times. */
  private static final List<InternalRow> ROWS =
      List.of(
          row(1, "a", 12, 1),
          row(2, "a", 17, 2),
          row(6, "a", 9, 6),
          row(3, "a", 25, 3),
          row(4, "a", 18, 4),
          row(5, "a", 15, 5),
          row(7, "a", 24, 7),
          row(10, "b", 1, 2),
          row(11, "b", 3, 1),
          row(12, "b", 2, 2),
          row(13, "b", null, 3),
          row(14, "b", 5, 9));

  private static InternalRow row(int id, String key, Integer value, long second) {
    return new GenericInternalRow(
        new Object[] {id, UTF8String.fromString(key), value, second * SECOND});
  }

  private static Attribute column(String name, DataType type) {
    return new AttributeReference(
        name, type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Sequences.of());
  }

  private static LogicalPlan table() {
    return new LocalRelation(
        Sequences.of(
            column("id", DataTypes.IntegerType),
            column("k", DataTypes.StringType),
            column("v", DataTypes.IntegerType),
            column("t", DataTypes.TimestampType)),
        Sequences.of(ROWS),
        false,
        Option.empty());
  }

  private static LogicalPlan analyzed(String text) {
    var parsed =
        CatalystSqlParser$.MODULE$
            .parsePlan(FlinkText.toSpark(text))
            .transformUp(
                PartialFunctions.<LogicalPlan, LogicalPlan>of(
                    UnresolvedRelation.class::isInstance, node -> table()));
    var plan = new PatternMatches.Find().apply(parsed);
    // In a session, the analyzer repeats this rule with its own; a match below another goes first.
    for (int i = 0; i < 2; i++) plan = new PatternMatches.Resolve().apply(ANALYZER.execute(plan));
    return ANALYZER.executeAndCheck(plan, new QueryPlanningTracker(Option.empty()));
  }

  /** Returns the rows of the match in a query, as texts. */
  private static List<String> rows(String clauses) {
    var plan = analyzed("SELECT * FROM s MATCH_RECOGNIZE (" + clauses + ") AS m");
    var found =
        (MatchedRows)
            plan.collectFirst(
                    PartialFunctions.<LogicalPlan, LogicalPlan>of(
                        MatchedRows.class::isInstance, node -> node))
                .get();
    var match = found.match();
    var table = Plans.list(found.child().children().head().output());
    var inputs = Plans.list(found.inputs());
    var keys = new ArrayList<SortOrder>();
    for (int key : match.keys())
      keys.add(
          new SortOrder(
              inputs.get(key),
              org.apache.spark.sql.catalyst.expressions.Ascending$.MODULE$,
              org.apache.spark.sql.catalyst.expressions.NullsFirst$.MODULE$,
              Sequences.of()));
    var order = new ArrayList<>(keys);
    order.addAll(Plans.list(match.order(inputs)));
    var sorted = new ArrayList<>(ROWS);
    sorted.sort(new InterpretedOrdering(Sequences.of(order), Sequences.of(table)));
    var task = new MatchTask(match, Sequences.of(keys), found.inputs(), Sequences.of(table));
    var texts = new ArrayList<String>();
    var results = task.call(sorted.iterator());
    while (results.hasNext()) texts.add(text(results.next(), match.resultTypes()));
    return texts;
  }

  private static String text(InternalRow row, List<DataType> types) {
    var values = new ArrayList<String>();
    for (int i = 0; i < types.size(); i++) {
      var value = row.get(i, types.get(i));
      var isTime = types.get(i).equals(DataTypes.TimestampType);
      values.add(String.valueOf(isTime && value != null ? (Long) value / SECOND : value));
    }
    return String.join(" ", values);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "PARTITION BY k ORDER BY t MEASURES A.t AS s, LAST(D.t) AS b, U.t AS e PATTERN (A D+ U)"
            + " DEFINE D AS D.v < PREV(D.v), U AS U.v > PREV(U.v);a 3 6 7, b 1 2 2",
        "PARTITION BY k ORDER BY t MEASURES LAST(D.v, 1) AS x, FIRST(D.v, 1) AS y PATTERN (A D+)"
            + " DEFINE D AS (LAST(D.v, 1) IS NULL AND D.v < A.v) OR D.v < LAST(D.v, 1);a 15 15, b"
            + " null null",
        "PARTITION BY k ORDER BY t MEASURES sum(A.v) AS s, avg(v) AS a, count(*) AS n, count(B.*)"
            + " AS b, min(A.v) FILTER (WHERE A.id > 1) AS f PATTERN (A+ B) DEFINE A AS sum(A.v) <"
            + " 60;a 54 18.0 4 1 17, a 24 16.0 3 1 9, b 6 2.75 5 1 1",
        "PARTITION BY k ORDER BY t MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS n, id AS i PATTERN"
            + " (A | B) DEFINE A AS v > 17, B AS v < 3;a A 1 3, a A 2 4, a A 3 7, b B 1 10, b B 2"
            + " 12",
        "PARTITION BY k ORDER BY t DESC NULLS LAST, id MEASURES A.id AS a, B.id AS b PATTERN (A B)"
            + " DEFINE B AS B.v < A.v;a 7 6, a 3 2",
        "ORDER BY t, k MEASURES A.id AS a, NEXT(A.id) AS n, PREV(FIRST(A.id), 1) AS p PATTERN (A)"
            + " DEFINE A AS NEXT(v) IS NULL;3 13 12, 14 null 7",
        "ORDER BY id MEASURES A.id AS a AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS v >"
            + " 16;2, 3, 4, 7",
        "PARTITION BY k ORDER BY t MEASURES FIRST(U.id) AS f, CLASSIFIER(U) AS c PATTERN (A B C)"
            + " SUBSET U = (B, C) DEFINE A AS v = 12;a 2 C",
        "PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '2' SECOND"
            + " DEFINE A AS TRUE;a 3, a 3, a 1, b 4, b 1",
        "PARTITION BY k ORDER BY t MEASURES FIRST(A.id) AS f AFTER MATCH SKIP TO LAST B PATTERN (A"
            + " B) DEFINE B AS v > 16;a 1, a 2, a 3, a 6",
        "PARTITION BY k ORDER BY t MEASURES MATCH_ROWTIME() AS r, CASE WHEN A.v BETWEEN 10 AND 15"
            + " THEN 'x' END AS c PATTERN (A) DEFINE A AS v IN (12, 5);a 1 x, b 9 null",
      })
  void returnsTheMatches(String clauses, String expected) {
    assertEquals(List.of(expected.split(", ")), rows(clauses));
  }

  @Test
  void returnsAllRowsWithRunningAndFinalValues() {
    assertEquals(
        List.of("a 2 17 17 2 A 2 17", "a 3 42 25 2 B 3 25"),
        rows(
            "PARTITION BY k ORDER BY t MEASURES sum(v) AS s, LAST(v) AS l, FINAL count(*) AS n,"
                + " CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS v = 17"));
  }

  @Test
  void aJoinReadsTheMatchesOfItsRightSide() {
    var plan =
        analyzed(
            "SELECT a.id, m.x FROM s AS a LEFT JOIN s MATCH_RECOGNIZE (ORDER BY t MEASURES A.id AS"
                + " x PATTERN (A) DEFINE A AS v > 1) AS m ON a.id = m.x");
    assertTrue(plan.toString().contains("Join LeftOuter"), plan.toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "PATTERN (A) DEFINE A AS v > 1;needs ORDER BY;16",
        "ORDER BY t DEFINE A AS v > 1;needs PATTERN;16",
        "ORDER BY t PATTERN (A);needs DEFINE;16",
        "ORDER BY t PATTERN (A*) DEFINE A AS v > 1;matches no rows as well;53",
        "ORDER BY t PATTERN (A B*+) DEFINE A AS v > 1;follows a quantifier;57",
        "ORDER BY t PATTERN (A) DEFINE B AS v > 1;B is no variable of PATTERN. Its variables are"
            + " A.;63",
        "ORDER BY t PATTERN (A) DEFINE A AS v > 1, A AS v > 2;DEFINE has A twice;75",
        "ORDER BY t PATTERN (A) DEFINE A AS X.v > 1;X is no variable of PATTERN;68",
        "ORDER BY t PATTERN (A) DEFINE A AS A.w > 1;`w` cannot be resolved;68",
        "ORDER BY t PATTERN (A) DEFINE A AS w > 1;`w` cannot be resolved;68",
        "ORDER BY t PATTERN (A) DEFINE A AS abs(A.v);has the type INT;68",
        "ORDER BY t PATTERN (A) DEFINE A AS LAST(A.v, v) > 1;must be a constant;68",
        "ORDER BY t PATTERN (A B) DEFINE A AS sum(A.v + B.v) > 1;several variables (A, B);70",
        "ORDER BY t PATTERN (A) DEFINE A AS LAST(PREV(A.v)) > 1;PREV is not possible within;73",
        "ORDER BY t PATTERN (A) DEFINE A AS FINAL LAST(A.v) > 1;possible in MEASURES only;68",
        "ORDER BY t PATTERN (A) DEFINE A AS rand() > 1;rand() is not supported;68",
        "ORDER BY t PATTERN (A) DEFINE A AS count(DISTINCT v) > 1;without DISTINCT;68",
        "ORDER BY t PATTERN (A) DEFINE A AS v > (SELECT 1);A subquery is not supported;72",
        "ORDER BY v + 1 PATTERN (A) DEFINE A AS v > 1;takes columns only;42",
        "PARTITION BY abs(v) ORDER BY t PATTERN (A) DEFINE A AS v > 1;takes columns only;46",
        "ORDER BY id PATTERN (A) WITHIN INTERVAL '1' HOUR DEFINE A AS v > 1;needs a TIMESTAMP;42",
        "ORDER BY t PATTERN (A) WITHIN INTERVAL '1' MONTH DEFINE A AS v > 1;interval of days;63",
        "ORDER BY t AFTER MATCH SKIP TO FIRST A PATTERN (A B) DEFINE A AS v > 1;first row of the"
            + " match;70",
        "ORDER BY t AFTER MATCH SKIP TO LAST B PATTERN (A B?) DEFINE A AS v > 1;can be without"
            + " B;69",
        "ORDER BY t PATTERN (A B) SUBSET U = (A, C) DEFINE A AS v > 1;C is no variable;73",
        "ORDER BY t ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS v > 1;Leave it"
            + " out;45",
      })
  void aWrongClauseHasItsPlace(String clauses, String message, int position) {
    var text = "SELECT * FROM s MATCH_RECOGNIZE (" + clauses + ")";
    var error = assertThrows(Exception.class, () -> analyzed(text));
    assertTrue(error.getMessage().contains(message), error.getMessage());
    assertEquals(position, ((AnalysisException) error).startPosition().get(), error.getMessage());
  }

  @Test
  void twoMatchesNeedASubquery() {
    var match = " MATCH_RECOGNIZE (ORDER BY t MEASURES A.t AS t PATTERN (A) DEFINE A AS t > t)";
    assertTrue(analyzed("SELECT * FROM (SELECT * FROM s" + match + ")" + match).resolved());
    var text = "SELECT * FROM s" + match + " AS m" + match;
    var error = assertThrows(Exception.class, () -> analyzed(text));
    assertTrue(error.getMessage().contains("cannot directly follow"), error.getMessage());
  }
}
