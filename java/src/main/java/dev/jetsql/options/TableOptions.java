package dev.jetsql.options;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.SimilarNames;
import dev.jetsql.connections.Connections;
import dev.jetsql.versions.SparkCalls;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.SetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.SetTableSerDeProperties;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses unknown options: Spark ignores them, and a misspelled 'key.columns' would turn updates
 * into additional rows. Tables that exist are not checked, except for the options of a statement.
 */
public final class TableOptions {
  /** The property of a table in a unit test with the format that it stands in for. */
  public static final String STAND_IN = "jetsql.test.provider";

  /** An option that Spark itself adds to the relations of a statement. */
  private static final String PRIVILEGES = UnresolvedRelation$.MODULE$.REQUIRED_WRITE_PRIVILEGES();

  private static volatile List<String> ofJobs = List.of();

  private TableOptions() {}

  /** Sets the names of the options of jobs, a JSON array. */
  public static void setJobOptions(String names) {
    ofJobs = Json.readTexts(names);
  }

  /**
   * Checks a statement that creates a table or changes its options or properties.
   *
   * @param tableOf returns the table of Spark's catalog that a node names, or null
   */
  public static void check(
      SparkSession session, LogicalPlan command, Function<LogicalPlan, CatalogTable> tableOf) {
    if (session.sessionState().conf().contains(JobContext.JOB_CONF)) return;
    var origin = command.origin();
    if (command instanceof CreateTempViewUsing view) {
      var options = CollectionConverters.asJava(view.options());
      checkOptions(view.provider(), options, options.keySet(), origin);
    } else if (command instanceof SetTableProperties set) {
      var table = tableOf.apply(set.table());
      checkProperties(
          table == null ? null : format(table),
          CollectionConverters.asJava(set.properties()).keySet(),
          origin);
    } else if (command instanceof SetTableSerDeProperties set) {
      var table = tableOf.apply(set.child());
      if (table != null && set.serdeProperties().isDefined())
        checkChange(table, CollectionConverters.asJava(set.serdeProperties().get()), origin);
    } else if (SparkCalls.propertiesOfLike(command) != null) {
      checkProperties(null, SparkCalls.propertiesOfLike(command).keySet(), origin);
    } else if (command instanceof org.apache.spark.sql.execution.datasources.CreateTable create) {
      checkWritten(create.tableDesc(), origin);
    } else if (spec(command) instanceof UnresolvedTableSpec table) {
      checkTable(session, table, origin);
    }
  }

  /**
   * Checks the options of `df.writeTo(...)`, and of `df.write` for a table of a connector. Spark
   * itself ignores all options of `df.write.insertInto` for other tables.
   *
   * @param formatOf returns the format of the table that a node names, or null
   */
  public static void checkWriter(
      SparkSession session, LogicalPlan command, Function<LogicalPlan, String> formatOf) {
    var given = writerOptions(command);
    if (given.isEmpty() || session.sessionState().conf().contains(JobContext.JOB_CONF)) return;
    var format =
        command instanceof V2WriteCommand write
            ? writtenFormat(write, formatOf)
            : createdFormat(session, command, formatOf);
    var defines = spec(command) != null && (format == null || !LakeOptions.isLake(format));
    for (var name : given.keySet())
      if (!defines && KnownOptions.definesTable(name))
        throw error(
            command.origin(),
            "OPTION_NOT_CHANGEABLE",
            "Cannot set '" + name + "' by an option of a write: it is a property of the table.");
    if (!"kafka".equals(format)) // `KafkaOptions` checks these
    checkOptions(format, given, given.keySet(), command.origin());
  }

  private static Map<String, String> writerOptions(LogicalPlan command) {
    var options =
        command instanceof AppendData write
            ? write.writeOptions()
            : command instanceof OverwriteByExpression write
                ? write.writeOptions()
                : command instanceof OverwritePartitionsDynamic write
                    ? write.writeOptions()
                    : command instanceof CreateTableAsSelect create
                        ? create.writeOptions()
                        : command instanceof ReplaceTableAsSelect replace
                            ? replace.writeOptions()
                            : null;
    return options == null ? Map.of() : CollectionConverters.asJava(options);
  }

  private static String writtenFormat(
      V2WriteCommand write, Function<LogicalPlan, String> formatOf) {
    if (!(write.table() instanceof DataSourceV2Relation relation))
      return formatOf.apply((LogicalPlan) write.table());
    var provider = relation.table().properties().get(TableCatalog.PROP_PROVIDER);
    return provider == null ? null : lower(provider);
  }

  private static String createdFormat(
      SparkSession session, LogicalPlan command, Function<LogicalPlan, String> formatOf) {
    var provider = spec(command).provider();
    if (provider.isDefined()) return lower(provider.get());
    var ofCatalog = formatOf.apply(command.children().head());
    return ofCatalog == null
        ? lower(session.sessionState().conf().defaultDataSourceName())
        : ofCatalog;
  }

  /**
   * Checks the options of `WITH (...)` after the name of a table that is not Kafka's.
   *
   * @param format the format of the table; null if it is not known
   * @param ofTable the options of the table itself
   */
  public static void checkQuery(
      SparkSession session,
      UnresolvedRelation relation,
      String format,
      Map<String, String> ofTable) {
    if (session.sessionState().conf().contains(JobContext.JOB_CONF)) return;
    var given = new HashMap<>(relation.options().asCaseSensitiveMap());
    given.remove(PRIVILEGES);
    given.remove("maxFileAge", JobContext.ANY_AGE); // `TableRules` adds it
    for (var name : given.keySet())
      if (KnownOptions.definesTable(name))
        throw error(
            OptionPositions.after(relation.origin(), name, null),
            "OPTION_NOT_CHANGEABLE",
            "Cannot set '"
                + name
                + "' in a query: it defines the table. Write it in the OPTIONS of CREATE TABLE.");
    var options = new HashMap<>(ofTable);
    options.putAll(given);
    checkOptions(format, options, given.keySet(), relation.origin());
  }

  /**
   * Returns the option that decides how a job writes a table and that one of its options probably
   * means, or null: a table that an earlier release or Spark has created was not checked.
   *
   * @param format the format of the table
   * @param names the names of its options
   */
  public static Map.Entry<String, String> misspelled(String format, List<String> names) {
    for (var meant : KnownOptions.OF_SINKS) {
      if (!KnownOptions.formatsOf(meant).contains(lower(format))) continue;
      if (SimilarNames.contains(names, meant)) continue;
      for (var name : names)
        if (SimilarNames.nearest(List.of(meant), name) != null) return Map.entry(name, meant);
    }
    return null;
  }

  /** Returns whether a query can name files of a format, as in json.`path`. */
  public static boolean readsFiles(String format) {
    return KnownOptions.readsFiles(lower(format));
  }

  /** Returns the format of a table in lower case, or "hive". */
  public static String format(CatalogTable table) {
    return lower(table.provider().isDefined() ? table.provider().get() : "hive");
  }

  /** Checks a table of `saveAsTable`, or of a statement that Spark has resolved. */
  private static void checkWritten(CatalogTable table, Origin origin) {
    var format = format(table);
    var options = CollectionConverters.asJava(table.storage().properties());
    if (format.equals("kafka") || table.properties().contains(STAND_IN)) return;
    checkOptions(format, options, options.keySet(), origin);
  }

  private static void checkChange(CatalogTable table, Map<String, String> given, Origin origin) {
    var options = new HashMap<>(CollectionConverters.asJava(table.storage().properties()));
    options.putAll(given);
    checkOptions(format(table), options, given.keySet(), origin);
  }

  private static void checkTable(SparkSession session, UnresolvedTableSpec table, Origin origin) {
    var isHive = table.provider().isEmpty() && table.serde().isDefined();
    var byDefault = isHive ? "hive" : session.sessionState().conf().defaultDataSourceName();
    var properties = CollectionConverters.asJava(table.properties());
    var standsInFor = properties.get(STAND_IN); // in a unit test
    var written = table.provider().isDefined() ? table.provider().get() : byDefault;
    var format = lower(standsInFor == null ? written : standsInFor);
    var options = new HashMap<String, String>();
    var origins = new HashMap<String, Origin>();
    var url = origin;
    for (var option : CollectionConverters.asJava(table.optionExpression().options())) {
      if (option._1().equalsIgnoreCase("url")) url = option._2().origin();
      options.put(
          option._1(), option._2() instanceof Literal value ? String.valueOf(value.value()) : "");
      origins.put(option._1(), OptionPositions.ofKey(option._2().origin(), option._1()));
    }
    if (!format.equals("kafka")) { // `KafkaOptions` checks these
      var known = KnownOptions.of(format, withConnection(format, options));
      options.keySet().forEach(name -> checkOption(format, known, name, origins.get(name)));
    }
    if (format.equals("jdbc")) JdbcOptions.checkUrl(url, withConnection(format, options));
    if (standsInFor == null) checkProperties(format, properties.keySet(), origin);
  }

  /** Checks the names of TBLPROPERTIES. Other programs have properties of their own. */
  private static void checkProperties(String provider, Set<String> names, Origin origin) {
    for (var name : names) {
      var place = OptionPositions.after(origin, name, null);
      var nearest = SimilarNames.nearest(KnownOptions.ofJetSql(), name);
      if (nearest != null) throw unknown(place, name, " Did you mean '" + nearest + "'?");
      var formats = KnownOptions.formatsOf(name);
      if (formats.isEmpty() || provider == null) continue;
      if (KnownOptions.isProperty(lower(provider), name)) continue;
      if (!formats.contains(lower(provider))) throw ofOthers(place, lower(provider), name);
      throw unknown(place, name, " It has no effect in TBLPROPERTIES: write it in OPTIONS (...).");
    }
  }

  private static void checkOptions(
      String provider, Map<String, String> options, Set<String> names, Origin origin) {
    if (names.isEmpty()) return;
    var format = provider == null ? null : lower(provider);
    var known = KnownOptions.of(format, withConnection(format, options));
    for (var name : names)
      checkOption(format, known, name, OptionPositions.after(origin, name, null));
    if ("jdbc".equals(format)) JdbcOptions.checkUrl(origin, withConnection(format, options));
  }

  private static Map<String, String> withConnection(String format, Map<String, String> options) {
    return "jdbc".equals(format) ? Connections.merged(format, options) : options;
  }

  private static void checkOption(
      String format, KnownOptions.Names known, String name, Origin origin) {
    var formats = KnownOptions.formatsOf(name);
    if (format != null && !formats.isEmpty() && !formats.contains(format))
      throw ofOthers(origin, format, name);
    if (!formats.isEmpty() || KnownOptions.isOfCatalog(name)) return;
    if (SimilarNames.contains(known.names(), name)) return;
    refuseSimilar(format, known, name, origin);
    if (!known.areAll()) return;
    // Spark passes a name with a dot to Hadoop and to the libraries of formats.
    if (name.contains(".") && !format.equals("jdbc")) return;
    throw unknown(
        origin,
        name,
        format.equals("jdbc")
            ? " Neither Spark nor the driver knows it. Write properties of the database into the"
                + " URL."
            : " Remove it.");
  }

  private static void refuseSimilar(
      String format, KnownOptions.Names known, String name, Origin origin) {
    var nearest = SimilarNames.nearest(known.names(), name);
    if (nearest != null) throw unknown(origin, name, " Did you mean '" + nearest + "'?");
    nearest = SimilarNames.nearest(KnownOptions.ofJetSql(), name);
    if (nearest != null) {
      var formats = KnownOptions.formatsOf(nearest);
      var hint = " Did you mean '" + nearest + "'?";
      if (format != null && !formats.contains(format)) hint += " " + haveIt(formats);
      throw unknown(origin, name, hint);
    }
    var ofJob = SimilarNames.contains(ofJobs, name) ? name : SimilarNames.nearest(ofJobs, name);
    if (ofJob == null) return;
    var meant =
        ofJob.equals(name) ? " It is an option" : " Did you mean '" + ofJob + "', an option";
    throw unknown(
        origin,
        name,
        meant
            + " of jobs"
            + (ofJob.equals(name) ? ":" : "?")
            + " Write it in CREATE JOB ... OPTIONS (...), or in JOB OPTIONS (...).");
  }

  private static RuntimeException ofOthers(Origin origin, String format, String name) {
    var hint = haveIt(KnownOptions.formatsOf(name));
    var message = "A table USING " + format + " has no option '" + name + "'. " + hint;
    return error(origin, "UNKNOWN_OPTION", message);
  }

  private static String haveIt(List<String> formats) {
    var last = formats.size() - 1;
    var list = String.join(", ", formats.subList(0, last));
    return "Tables USING "
        + (last == 0 ? formats.get(0) : list + " and " + formats.get(last))
        + " have it.";
  }

  private static RuntimeException unknown(Origin origin, String name, String hint) {
    return error(origin, "UNKNOWN_OPTION", "The table has no option '" + name + "'." + hint);
  }

  private static RuntimeException error(Origin origin, String condition, String message) {
    return Exceptions.raise(JetSqlException.at(origin, condition, "42616", message));
  }

  /** Returns the table that a statement creates, or null for any other statement. */
  static TableSpecBase spec(LogicalPlan command) {
    if (command instanceof CreateTable create) return create.tableSpec();
    if (command instanceof CreateTableAsSelect create) return create.tableSpec();
    if (command instanceof ReplaceTable replace) return replace.tableSpec();
    return command instanceof ReplaceTableAsSelect replace ? replace.tableSpec() : null;
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
