package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.OptionPositions;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.commons.text.similarity.LevenshteinDistance;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.SetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses unknown options: Spark ignores them, and a misspelled 'key.columns' would turn updates
 * into additional rows. Tables that exist are not checked.
 */
public final class TableOptions {
  private static final int NEAR = 2;

  private static volatile List<String> ofJobs = List.of();

  private TableOptions() {}

  /** Sets the names of the options of jobs, a JSON array. */
  public static void setJobOptions(String names) {
    ofJobs = Json.readTexts(names);
  }

  /** Checks a statement that creates a table or changes its properties. */
  static void check(SparkSession session, LogicalPlan command) {
    if (session.sessionState().conf().contains(JobContext.JOB_CONF)) return;
    if (command instanceof CreateTempViewUsing view) {
      checkOptions(
          view.provider(), CollectionConverters.asJava(view.options()), Map.of(), view.origin());
    } else if (command instanceof SetTableProperties set) {
      for (var name : CollectionConverters.asJava(set.properties()).keySet())
        refuseNear(KnownOptions.ofJetSql(), name, inText(set.origin(), name));
    } else if (spec(command) instanceof UnresolvedTableSpec table) {
      checkTable(session, table, command.origin());
    }
  }

  /** Checks the options of WITH after the name of a table that is not Kafka's. */
  static void checkQuery(SparkSession session, UnresolvedRelation relation, String provider) {
    if (session.sessionState().conf().contains(JobContext.JOB_CONF)) return;
    var options = new HashMap<>(relation.options().asCaseSensitiveMap());
    var origins = new HashMap<String, Origin>();
    options.keySet().forEach(each -> origins.put(each, inText(relation.origin(), each)));
    var format = provider.toLowerCase(Locale.ROOT);
    if (!format.equals("jdbc")) checkOptions(format, options, origins, relation.origin());
  }

  private static void checkTable(SparkSession session, UnresolvedTableSpec table, Origin origin) {
    var format =
        table.provider().isDefined()
            ? table.provider().get().toLowerCase(Locale.ROOT)
            : session.sessionState().conf().defaultDataSourceName().toLowerCase(Locale.ROOT);
    var options = new HashMap<String, String>();
    var origins = new HashMap<String, Origin>();
    for (var option : CollectionConverters.asJava(table.optionExpression().options())) {
      options.put(
          option._1(), option._2() instanceof Literal value ? String.valueOf(value.value()) : "");
      origins.put(option._1(), OptionPositions.ofKey(option._2().origin(), option._1()));
    }
    if (!format.equals("kafka")) checkOptions(format, options, origins, origin);
    for (var name : CollectionConverters.asJava(table.properties()).keySet())
      checkProperty(format, name, inText(origin, name));
  }

  private static void checkProperty(String format, String name, Origin origin) {
    refuseNear(KnownOptions.ofJetSql(), name, origin);
    var isOption = KnownOptions.ofJetSql().stream().anyMatch(name::equalsIgnoreCase);
    if (isOption && !KnownOptions.isProperty(format, name) && !format.equals("iceberg"))
      throw unknown(origin, name, " It has no effect in TBLPROPERTIES: write it in OPTIONS.");
  }

  private static void checkOptions(
      String provider, Map<String, String> options, Map<String, Origin> origins, Origin statement) {
    var format = provider.toLowerCase(Locale.ROOT);
    var known = KnownOptions.isListed(format) ? KnownOptions.of(format, options) : null;
    for (var name : options.keySet()) {
      var origin = origins.getOrDefault(name, statement);
      if (known != null && known.stream().anyMatch(name::equalsIgnoreCase)) continue;
      var isKnownFormat = known != null || CatalogTables.hasFormat(format);
      if (isKnownFormat && ofJobs.stream().anyMatch(name::equalsIgnoreCase))
        throw unknown(
            origin,
            name,
            " It is an option of jobs: write it in the OPTIONS of CREATE JOB, or in JOB OPTIONS"
                + " (...).");
      if (known == null) {
        refuseNear(KnownOptions.ofJetSql(), name, origin);
        continue;
      }
      refuseNear(known, name, origin);
      refuseNear(ofJobs, name, origin);
      // Spark passes a name with a dot to Hadoop and to the libraries of formats.
      var isOfHadoop = name.contains(".") && !format.equals("jdbc") && !isOfJetSql(name);
      if (isOfHadoop || known.contains(KnownOptions.ANY)) continue;
      var hint = format.equals("jdbc") ? " Neither Spark nor the driver knows it." : "";
      throw unknown(origin, name, hint + " Remove it.");
    }
  }

  private static boolean isOfJetSql(String name) {
    return KnownOptions.ofJetSql().stream().anyMatch(name::equalsIgnoreCase);
  }

  private static void refuseNear(List<String> names, String name, Origin origin) {
    var nearest = nearest(names, name);
    if (nearest != null) throw unknown(origin, name, " Did you mean '" + nearest + "'?");
  }

  /** Returns the most similar name, or null for a name that is in the list or similar to none. */
  private static String nearest(List<String> names, String name) {
    var key = folded(name);
    String nearest = null;
    var limit = key.length() < 6 ? 1 : NEAR;
    for (var each : names) {
      if (each.equalsIgnoreCase(name)) return null;
      var distance = LevenshteinDistance.getDefaultInstance().apply(folded(each), key);
      if (distance <= limit) {
        nearest = each;
        limit = distance - 1;
      }
    }
    return nearest;
  }

  /** Returns a name without what people spell in several ways: key_columns, keyColumns. */
  private static String folded(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[._-]", "");
  }

  private static RuntimeException unknown(Origin origin, String name, String hint) {
    var message = "Tables of this format have no option '" + name + "'." + hint;
    return Exceptions.raise(JetSqlException.at(origin, "UNKNOWN_OPTION", "42616", message));
  }

  private static Origin inText(Origin origin, String name) {
    return OptionPositions.ofMatch(
        origin, Pattern.compile("['\"`]?(\\b" + Pattern.quote(name) + ")"));
  }

  private static TableSpecBase spec(LogicalPlan command) {
    if (command instanceof CreateTable create) return create.tableSpec();
    if (command instanceof CreateTableAsSelect create) return create.tableSpec();
    if (command instanceof ReplaceTable replace) return replace.tableSpec();
    return command instanceof ReplaceTableAsSelect replace ? replace.tableSpec() : null;
  }
}
