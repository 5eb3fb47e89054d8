package dev.jetsql.options;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.Reflection;
import dev.jetsql.common.SimilarNames;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.RuntimeConfig;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.internal.SQLConf;
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
      List.of(
          "org.apache.spark.internal.config.package$",
          "org.apache.spark.internal.config.Deploy$",
          "org.apache.spark.internal.config.History$",
          "org.apache.spark.internal.config.Kryo$",
          "org.apache.spark.internal.config.Network$",
          "org.apache.spark.internal.config.Python$",
          "org.apache.spark.internal.config.R$",
          "org.apache.spark.internal.config.Status$",
          "org.apache.spark.internal.config.Streaming$",
          "org.apache.spark.internal.config.Tests$",
          "org.apache.spark.internal.config.UI$",
          "org.apache.spark.internal.config.Worker$",
          "org.apache.spark.sql.connect.config.Connect$",
          "org.apache.spark.sql.internal.StaticSQLConf$");

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

  /** Returns the names of all settings and the prefixes of others, for `jetsql lint`. */
  public static String list() {
    var names = known().stream().filter(each -> !isOfOthers(each));
    return Json.write(Stream.concat(OF_OTHERS.stream(), names).toList());
  }

  /** The names of Spark's settings, which are collected at their first use. */
  private static final class Known {
    static final Set<String> NAMES = names();

    private static Set<String> names() {
      var names = new TreeSet<String>(); // sorted, so that a choice among similar names is fixed
      names.addAll(CollectionConverters.asJava(SQLConf$.MODULE$.deprecatedSQLConfigs().keySet()));
      names.addAll(CollectionConverters.asJava(SQLConf$.MODULE$.removedSQLConfigs().keySet()));
      CLASSES.forEach(Known::load);
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
      if (set.kv().get()._2().isDefined())
        refuseMisspelled(OptionPositions.after(set.origin(), name, null), name);
      return plan;
    }
  }

  /**
   * The settings of a session as `spark.conf`, which refuses misspelled ones as SET does. Spark has
   * no rule for them: `spark.conf.set` writes into the settings without a plan.
   */
  public static final class Checked extends RuntimeConfig {
    private Checked(SQLConf settings) {
      super(settings);
    }

    /**
     * Replaces the object `spark.conf` of a session. The settings themselves stay the same. The
     * field is private: Spark makes the object with the session.
     */
    public static void install(SparkSession session) throws ReflectiveOperationException {
      if (session.conf() instanceof Checked) return;
      Reflection.field(SparkSession.class, "conf")
          .set(session, new Checked(session.conf().sqlConf()));
    }

    @Override
    public void set(String name, String value) {
      refuseMisspelled(null, name);
      super.set(name, value);
    }
  }

  /** Refuses a misspelled setting. place: of the name in a statement, or null */
  private static void refuseMisspelled(Origin place, String name) {
    var meant = meant(name);
    if (meant.isEmpty()) return;
    var message = "Spark has no setting '" + name + "'. Did you mean '" + meant + "'?";
    throw Exceptions.raise(
        place == null
            ? JetSqlException.of("UNKNOWN_OPTION", "42616", message)
            : JetSqlException.at(place, "UNKNOWN_OPTION", "42616", message));
  }
}
