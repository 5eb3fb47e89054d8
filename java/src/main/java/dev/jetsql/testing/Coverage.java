package dev.jetsql.testing;

import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What the rows of unit tests reach in the jobs: for each condition of a filter, both results; each
 * branch of CASE; for each join, a row. Only physical plans are changed, so that Spark plans a
 * query as it does without coverage. A site is what a plan has; what Spark optimizes away is none.
 */
public final class Coverage {
  /** The setting of the sessions of jobs whose plans are covered. */
  private static final String CONF = "spark.jetsql.test.coverage";

  private static final Pattern NOT_NULL =
      Pattern.compile("\\bNOT\\s+NULL\\b|\\bisnotnull\\b", Pattern.CASE_INSENSITIVE);
  private static final int TRUE = 1;
  private static final int OTHER = 2;
  private static final Map<String, Integer> SEEN = new ConcurrentHashMap<>();

  private Coverage() {}

  /** Notes an evaluation. */
  static void reach(String site, Object value) {
    SEEN.merge(site, Boolean.TRUE.equals(value) ? TRUE : OTHER, (one, other) -> one | other);
  }

  /**
   * Returns the sites, a JSON array of {"text", "start", "stop", "kind", "branch", "true",
   * "other"}: the text of the statement or view, the place in it, and whether a value was true, and
   * another.
   */
  public static String sites() {
    var sites = Json.MAPPER.createArrayNode();
    SEEN.forEach(
        (site, seen) -> {
          var found = Json.readObject(site);
          found.put("true", (seen & TRUE) != 0).put("other", (seen & OTHER) != 0);
          sites.add(found);
        });
    return Json.write(sites);
  }

  /** Forgets all sites. */
  public static void clear() {
    SEEN.clear();
  }

  static void inject(SparkSessionExtensions extensions) {
    extensions.injectColumnar(session -> new Columnar((SparkSession) session));
  }

  private static final class Columnar extends ColumnarRule {
    private final SparkSession session;

    Columnar(SparkSession session) {
      this.session = session;
    }

    @Override
    public Rule<SparkPlan> postColumnarTransitions() {
      return new Marks(session);
    }
  }

  private static final class Marks extends Rule<SparkPlan> {
    private final SparkSession session;

    Marks(SparkSession session) {
      this.session = session;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      if (!session.sessionState().conf().contains(CONF)) return plan;
      return plan.transformUp(
          PartialFunctions.<SparkPlan, SparkPlan>of(node -> isMarked(node), Marks::mark));
    }

    private static boolean isMarked(SparkPlan node) {
      return node instanceof FilterExec || node instanceof ProjectExec || join(node) != null;
    }

    private static SparkPlan mark(SparkPlan node) {
      if (node instanceof FilterExec filter)
        return new FilterExec(branches(conditions(filter.condition())), filter.child());
      if (node instanceof ProjectExec project)
        return project.transformExpressions(
            PartialFunctions.<Expression, Expression>of(
                each -> each instanceof CaseWhen, each -> branches((CaseWhen) each)));
      var site = site(origin(join(node).condition()), "join", 0);
      if (site == null) return node;
      return new FilterExec(new Reached(new Literal(true, DataTypes.BooleanType), site), node);
    }

    /** Returns the join that an operator runs, or null. */
    private static Join join(SparkPlan node) {
      if (node.children().length() != 2) return null;
      var link = node.logicalLink();
      return link.isDefined() && link.get() instanceof Join join ? join : null;
    }

    private static Origin origin(Option<Expression> condition) {
      if (condition.isEmpty()) return null;
      var part = condition.get();
      while (part.origin().startIndex().isEmpty() && !part.children().isEmpty())
        part = part.children().head();
      return part.origin();
    }

    private static Expression conditions(Expression condition) {
      if (condition instanceof And and)
        return new And(conditions(and.left()), conditions(and.right()));
      var isAdded = condition instanceof IsNotNull && !NOT_NULL.matcher(text(condition)).find();
      var site = isAdded ? null : site(condition.origin(), "filter", 0);
      return site == null ? condition : new Reached(condition, site);
    }

    /** Returns the words of an expression, or of the one from which Spark has derived it. */
    private static String text(Expression expression) {
      var origin = expression.origin();
      return hasPlace(origin)
          ? origin
              .sqlText()
              .get()
              .substring(
                  (Integer) origin.startIndex().get(), (Integer) origin.stopIndex().get() + 1)
          : "";
    }

    private static boolean hasPlace(Origin origin) {
      return origin.startIndex().isDefined()
          && origin.stopIndex().isDefined()
          && origin.sqlText().isDefined();
    }

    private static Expression branches(Expression expression) {
      return expression.transformUp(
          PartialFunctions.<Expression, Expression>of(
              each -> each instanceof CaseWhen, each -> branches((CaseWhen) each)));
    }

    private static Expression branches(CaseWhen given) {
      var branches = new ArrayList<Tuple2<Expression, Expression>>();
      for (var branch : CollectionConverters.asJava(given.branches()))
        branches.add(
            new Tuple2<>(branch._1(), marked(branch._2(), given.origin(), branches.size() + 1)));
      var last =
          given.elseValue().isDefined()
              ? Option.<Expression>apply(marked(given.elseValue().get(), given.origin(), 0))
              : given.elseValue();
      return new CaseWhen(Sequences.of(List.copyOf(branches)), last);
    }

    private static Expression marked(Expression value, Origin origin, int branch) {
      var site = value instanceof Reached ? null : site(origin, "case", branch);
      return site == null ? value : new Reached(value, site);
    }

    /** Returns a place as JSON, and notes that a plan has it; null for what no statement wrote. */
    private static String site(Origin origin, String kind, int branch) {
      if (origin == null || !hasPlace(origin)) return null;
      var site = Json.MAPPER.createObjectNode();
      site.put("text", origin.sqlText().get());
      site.put("start", (Integer) origin.startIndex().get());
      site.put("stop", (Integer) origin.stopIndex().get());
      site.put("kind", kind).put("branch", branch);
      var text = Json.write(site);
      SEEN.putIfAbsent(text, 0);
      return text;
    }
  }
}
