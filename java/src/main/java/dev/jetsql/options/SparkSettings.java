package dev.jetsql.options;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.SimilarNames;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.internal.SQLConf$;
import scala.jdk.javaapi.CollectionConverters;

/** Finds settings that Spark does not have, by its own list. Spark ignores them. */
public final class SparkSettings {
  private static final String SQL = "spark.sql.";

  /** The settings of catalogs, connectors and the state store, which Spark does not list. */
  private static final List<String> OF_OTHERS =
      List.of(
          "spark.sql.catalog.",
          "spark.sql.iceberg.",
          "spark.sql.hive.",
          "spark.sql.streaming.stateStore.",
          "spark.databricks.",
          "spark.hadoop.",
          "spark.jetsql.");

  /** Classes with settings that Spark lists only after it has loaded them. */
  private static final List<String> CLASSES =
      List.of("package$", "UI$", "Network$", "Status$", "Python$", "Kryo$", "History$");

  private SparkSettings() {}

  /** Returns the setting that a name probably means; "" if Spark has it, or none is similar. */
  public static String meant(String name) {
    var known = known();
    if (known.contains(name) || isOfOthers(name)) return "";
    for (var each : known) if (each.equalsIgnoreCase(name)) return each; // Spark compares the case
    var nearest = SimilarNames.nearest(known, name);
    return nearest == null ? "" : nearest;
  }

  /**
   * Returns whether Spark lacks a setting whose name is one of its own. Programs that extend Spark
   * have settings such as `spark.sql.hudi.x`.
   */
  public static boolean isMissing(String name) {
    var known = known();
    if (!name.startsWith(SQL) || known.contains(name) || isOfOthers(name)) return false;
    var group = name.substring(0, name.lastIndexOf('.') + 1);
    return known.stream().anyMatch(each -> each.startsWith(group));
  }

  private static boolean isOfOthers(String name) {
    return OF_OTHERS.stream().anyMatch(name::startsWith);
  }

  private static Set<String> known() {
    return Known.NAMES;
  }

  /** The names of Spark's settings, which are collected at their first use. */
  private static final class Known {
    static final Set<String> NAMES = names();

    private static Set<String> names() {
      var names = new HashSet<String>();
      names.addAll(CollectionConverters.asJava(SQLConf$.MODULE$.deprecatedSQLConfigs().keySet()));
      names.addAll(CollectionConverters.asJava(SQLConf$.MODULE$.removedSQLConfigs().keySet()));
      for (var each : CLASSES) load("org.apache.spark.internal.config." + each);
      load("org.apache.spark.sql.internal.StaticSQLConf$");
      for (var entry : ConfigEntry$.MODULE$.knownConfigs().values()) {
        names.add(entry.key());
        names.addAll(CollectionConverters.asJava(entry.alternatives()));
      }
      return names;
    }

    private static void load(String name) {
      try {
        Class.forName(name);
      } catch (ClassNotFoundException e) { // another version of Spark
        throw Exceptions.raise(e);
      }
    }
  }

  /** Refuses SET for a misspelled setting. Other unknown names are variables of the user. */
  public static final class CheckSet extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (!(plan instanceof SetCommand set) || set.kv().isEmpty()) return plan;
      var name = set.kv().get()._1();
      if (set.kv().get()._2().isEmpty() || meant(name).isEmpty()) return plan;
      throw Exceptions.raise(
          JetSqlException.at(
              OptionPositions.after(set.origin(), name, null),
              "UNKNOWN_OPTION",
              "42616",
              "Spark has no setting '" + name + "'. Did you mean '" + meant(name) + "'?"));
    }
  }
}
