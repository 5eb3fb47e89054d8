package dev.jetsql.catalog;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.connections.ConnectedTables;
import dev.jetsql.connections.Connections;
import dev.jetsql.jdbc.JdbcSecrets;
import dev.jetsql.kafka.KafkaOptions;
import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.kafka.KafkaTableStatements;
import dev.jetsql.options.FileTableOptions;
import dev.jetsql.options.JdbcOptions;
import dev.jetsql.options.TableOptions;
import dev.jetsql.plans.JobColumns;
import dev.jetsql.plans.Plans;
import dev.jetsql.records.FileStream;
import dev.jetsql.versions.CaseClasses;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.QualifiedTableName;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedView;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.UnresolvedCatalogRelation;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.AlterViewAs;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.DropNamespace;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.DropView;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RefreshTable;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.SetTableLocation;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Resolves the names of tables in a statement: to a relation of the engine (`LiveTables`,
 * `JobState`), to a Kafka table, or to one of Spark's tables, whose cached file list it drops when
 * that is out of date (`TableVersions`). Refuses statements that these tables do not support.
 */
public final class TableRules extends Rule<LogicalPlan> {
  private final SparkSession session;
  private final TablesWithJobs tablesWithJobs;

  public TableRules(SparkSession session) {
    this.session = session;
    this.tablesWithJobs = new TablesWithJobs(session);
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof RefreshTable refresh && isLive(refresh.child())) {
      return new NoopCommand("REFRESH TABLE", Sequences.of());
    }
    refuseChange(plan);
    forgetDropped(plan);
    var ours = tablesWithJobs.replace(plan);
    if (ours != null) return ours;
    tablesWithJobs.refuseWrites(plan);
    if (!plan.children().isEmpty()) ColumnChanges.check(plan, alteredTable(plan));
    refuseInUse(plan);
    refuseForKafka(plan);
    KafkaTableStatements.check(session, plan);
    TableFormats.check(session, plan);
    JdbcSecrets.check(plan);
    TableOptions.check(session, plan, this::table);
    TableOptions.checkWriter(session, plan, this::format);
    FileTableOptions.check(plan);
    return plan.resolveOperatorsDown(
        PartialFunctions.of(
            node ->
                node instanceof UnresolvedRelation
                    || node instanceof InsertIntoStatement
                    || node instanceof UnresolvedTableValuedFunction,
            this::resolve));
  }

  private LogicalPlan resolve(LogicalPlan node) {
    if (node instanceof InsertIntoStatement insert) return resolveInsert(insert);
    if (node instanceof UnresolvedTableValuedFunction call) return resolveCall(call);
    return resolve((UnresolvedRelation) node);
  }

  private LogicalPlan resolveCall(UnresolvedTableValuedFunction call) {
    var schema = schemaOf(call.name());
    return schema != null && JobState.isCalled(schema, call.name().last())
        ? JobState.plan(session, call)
        : call;
  }

  private LogicalPlan resolve(UnresolvedRelation relation) {
    var schema = schemaOf(relation.multipartIdentifier());
    if (schema == null) CatalogTables.refresh(session, relation.multipartIdentifier());
    if (schema != null) {
      var name = relation.multipartIdentifier().last();
      if (LiveTables.has(schema, name)) return live(relation, name);
      TableVersions.refresh(session.sessionState().catalog(), schema, name);
      var options = relation.options().asCaseSensitiveMap();
      var kafka = kafka(schema, name, options, relation.origin());
      if (kafka != null) {
        KafkaOptions.checkQuery(relation.origin(), options, kafka, relation.isStreaming());
        return SubqueryAlias$.MODULE$.apply(
            kafka.nameParts(), withJobColumns(kafka, options, relation.isStreaming()));
      }
    }
    checkOptions(relation, schema);
    var connected =
        schema == null ? null : connected(schema, relation.multipartIdentifier().last());
    if (connected != null)
      return session.sessionState().catalog().getRelation(connected, relation.options());
    var named = relation.isStreaming() ? withAnyFileAge(relation) : relation;
    var narrowed = schema == null ? null : withJobColumns(named, schema);
    return narrowed == null ? named : narrowed;
  }

  /** Returns the read of a Kafka table with the columns that the analyzed job knows. */
  private LogicalPlan withJobColumns(
      KafkaTable kafka, Map<String, String> options, boolean isStreaming) {
    var narrowed = JobColumns.of(kafka.name(), kafka.catalogTable());
    if (kafka.isByOrder() && !narrowed.equals(kafka.catalogTable()))
      return project(narrowed, new KafkaRead(kafka, isStreaming));
    return new KafkaRead(new KafkaTable(session, narrowed, options), isStreaming);
  }

  private static LogicalPlan project(CatalogTable table, LogicalPlan read) {
    var columns = new ArrayList<NamedExpression>();
    for (var column : table.schema().fieldNames())
      columns.add(new UnresolvedAttribute(Sequences.of(List.of(column))));
    return new Project(Sequences.of(columns), read);
  }

  /**
   * Returns a table of files with the columns that the analyzed job knows, or null if the table has
   * no others. A stream parses only these, as before the others were added. Of a table without
   * STREAM, Spark keeps one relation with all columns for all queries.
   */
  private LogicalPlan withJobColumns(UnresolvedRelation relation, String schema) {
    var table = table(schema, relation.multipartIdentifier().last());
    if (table == null || !TableOptions.readsFiles(TableOptions.format(table))) return null;
    var narrowed = JobColumns.of(Tables.name(table), table);
    if (narrowed.equals(table)) return null;
    var isNarrow = relation.isStreaming() && !FileStream.isByOrder(table);
    var read =
        new UnresolvedCatalogRelation(
            ofCatalog(isNarrow ? narrowed : table, Map.of()),
            relation.options(),
            relation.isStreaming());
    return SubqueryAlias$.MODULE$.apply(
        Sequences.of(List.of(Tables.name(table).split("\\."))),
        isNarrow ? read : project(narrowed, read));
  }

  /** Returns a copy of a table as Spark needs it in a plan. fields: those that differ */
  private static CatalogTable ofCatalog(CatalogTable table, Map<String, Object> fields) {
    var name = table.identifier();
    var all = new HashMap<>(fields);
    all.put(
        "identifier",
        new TableIdentifier(name.table(), name.database(), Option.apply(Tables.CATALOG)));
    return CaseClasses.copy(table, all);
  }

  /** Checks the options `WITH (...)` and the URL of a table that is not Kafka's. */
  private void checkOptions(UnresolvedRelation relation, String schema) {
    var options = relation.options().asCaseSensitiveMap();
    var name = relation.multipartIdentifier();
    var table = schema == null ? null : table(schema, name.last());
    if (table != null && TableOptions.format(table).equals("jdbc"))
      JdbcOptions.checkUrl(relation.origin(), ConnectedTables.options("jdbc", table));
    if (options.isEmpty()) return;
    if (table == null) {
      if (schema != null && !TableOptions.readsFiles(schema)) return; // Spark reports the table
      var isIceberg = schema == null && CatalogTables.isOfIceberg(catalogOf(name));
      TableOptions.checkQuery(session, relation, isIceberg ? "iceberg" : schema, Map.of());
      return;
    }
    var ofTable = CollectionConverters.asJava(table.storage().properties());
    TableOptions.checkQuery(session, relation, TableOptions.format(table), ofTable);
    FileTableOptions.checkQuery(relation.origin(), options, table, relation.isStreaming());
  }

  private CatalogPlugin catalogOf(Seq<String> name) {
    return SparkCalls.catalog(session, TableNames.qualified(session, Plans.list(name)).get(0));
  }

  private InsertIntoStatement resolveInsert(InsertIntoStatement insert) {
    var name = nameOf(insert.table());
    var schema = name == null ? null : schemaOf(name);
    if (schema == null) return insert;
    TableVersions.refresh(session.sessionState().catalog(), schema, name.last());
    var kafka = kafka(schema, name.last(), Map.of(), insert.table().origin());
    if (kafka == null && insert.table() instanceof UnresolvedRelation named)
      checkOptions(named, schema);
    var connected = kafka == null ? connected(schema, name.last()) : null;
    if (connected != null)
      return CaseClasses.copy(
          insert,
          Map.of(
              "table",
              new UnresolvedCatalogRelation(connected, CaseInsensitiveStringMap.empty(), false)));
    if (kafka == null) return insert;
    if (insert.overwrite() && !JobContext.isAnalyzing())
      throw KafkaTable.overwriteRefused(insert.table().origin());
    if (kafka.topic() == null && !kafka.isRaw()) {
      throw Exceptions.raise(
          JetSqlException.at(
              insert.table().origin(),
              "UNSUPPORTED_SINK",
              "0A000",
              "Cannot insert into the table " + kafka.name() + ": it has no option 'topic'."));
    }
    if (insert.table() instanceof UnresolvedRelation named) {
      KafkaOptions.refuseWithInsert(named.origin(), named.options().asCaseSensitiveMap(), kafka);
    }
    return CaseClasses.copy(insert, Map.of("table", kafka.insertTarget()));
  }

  /**
   * Returns the Kafka table with a name, or null for any other table. A table in Spark's cache of
   * relations is not a Kafka table.
   */
  private KafkaTable kafka(String schema, String name, Map<String, String> options, Origin origin) {
    var catalog = session.sessionState().catalog();
    if (catalog.getCachedTable(new QualifiedTableName(Tables.CATALOG, schema, name)) != null)
      return null;
    var table = table(schema, name);
    if (table == null) return null;
    if (table.provider().isDefined()) TableFormats.check(table.provider().get(), origin);
    if (!KafkaTable.isKafka(table)) return null;
    var kafka = new KafkaTable(session, table, options);
    kafka.loadModules();
    return kafka;
  }

  /**
   * Returns a JDBC table with the options of its connection, or null for any other table. Spark
   * caches the relation of a table, which is out of date when the connection has changed.
   */
  private CatalogTable connected(String schema, String name) {
    var table = table(schema, name);
    if (table == null || !TableOptions.format(table).equals("jdbc")) return null;
    var options = CollectionConverters.asJava(table.storage().properties());
    var merged = ConnectedTables.options("jdbc", table);
    if (!Connections.isUsed(options)) return null;
    TableVersions.refreshConnected(
        session.sessionState().catalog(), schema, name, Connections.version(options));
    return ofCatalog(
        table,
        Map.of(
            "storage",
            CaseClasses.copy(
                table.storage(),
                Map.of(
                    "properties",
                    scala.collection.immutable.Map.from(CollectionConverters.asScala(merged))))));
  }

  /** Returns the table of the session catalog that a node names, or null. */
  private CatalogTable table(LogicalPlan node) {
    var name = nameOf(node);
    var schema = name == null ? null : schemaOf(name);
    return schema == null ? null : table(schema, name.last());
  }

  /** Returns the format of the table that a node names, or null. */
  private String format(LogicalPlan node) {
    var table = table(node);
    if (table != null) return TableOptions.format(table);
    var name = nameOf(node);
    return name != null && CatalogTables.isOfIceberg(catalogOf(name)) ? "iceberg" : null;
  }

  /** Returns a table of the session catalog, or null if it does not exist. */
  private CatalogTable table(String schema, String name) {
    try {
      return session.sharedState().externalCatalog().getTable(schema, name);
    } catch (Exception e) { // a Scala method declares no checked exception
      if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
      throw Exceptions.raise(e);
    }
  }

  /** Returns the schema of a name, or null when the name does not belong to the session catalog. */
  private String schemaOf(Seq<String> name) {
    var catalog = session.sessionState().catalog();
    if (name.size() > 3 || catalog.isTempView(name)) return null;
    if (name.size() == 2 && isOfEngine(name)) return name.head(); // also after USE another catalog
    // Names in the text of a view belong to the catalog and schema in which the view was created.
    var viewNamespace = AnalysisContext.get().catalogAndNamespace();
    var current =
        viewNamespace.isEmpty() ? SparkCalls.currentCatalog(session) : viewNamespace.head();
    if (!(name.size() == 3 ? name.head() : current).equalsIgnoreCase(Tables.CATALOG)) return null;
    if (name.size() > 1) return name.apply(name.size() - 2);
    return viewNamespace.isEmpty() ? catalog.getCurrentDatabase() : viewNamespace.last();
  }

  private static boolean isOfEngine(Seq<String> name) {
    return LiveTables.has(name.head(), name.last()) || JobState.isCalled(name.head(), name.last());
  }

  private static LogicalPlan live(UnresolvedRelation relation, String name) {
    if (!relation.isStreaming()) return LiveTables.plan(name);
    throw Exceptions.raise(
        JetSqlException.at(
            relation.origin(),
            "UNSUPPORTED_QUERY",
            "0A000",
            "Cannot read the relation jetsql."
                + name
                + " as a stream: it shows the current state. Leave out STREAM."));
  }

  /**
   * Refuses to change a relation of the engine. Spark would report an error about views, or change
   * the placeholder.
   */
  private void refuseChange(LogicalPlan command) {
    var target = target(command);
    if (target == null || !isLive(target) || !EngineCallback.isConnected()) return;
    throw Exceptions.raise(
        JetSqlException.at(
            target.origin(),
            "RELATION_READ_ONLY",
            "42809",
            "Cannot change the relation jetsql." + nameOf(target).last() + ": it is read-only."));
  }

  /**
   * Makes the session search again for a table of another catalog that it is about to create.
   * Rights on an earlier table with its name end: that catalog reports no DROP.
   */
  private void forgetDropped(LogicalPlan command) {
    var creates = command instanceof CreateTable || command instanceof CreateTableAsSelect;
    if (!creates
        || command.children().isEmpty()
        || !(command.children().head() instanceof UnresolvedIdentifier named)) return;
    CatalogTables.refresh(session, named.nameParts());
    var name = TableNames.qualified(session, Plans.list(named.nameParts()));
    if (!name.get(0).equalsIgnoreCase(Tables.CATALOG)
        && CatalogTables.load(session, Json.write(name)) == null)
      ObjectChanges.drop(ObjectChanges.Kind.TABLE, name);
  }

  /** Refuses to drop, rename, move or replace what running jobs use. */
  private void refuseInUse(LogicalPlan command) {
    if (command instanceof DropNamespace drop) {
      if (drop.cascade() && drop.namespace() instanceof UnresolvedNamespace named)
        refuseSchemaInUse(named);
      return;
    }
    var action =
        ColumnChanges.addsByOrder(command, alteredTable(command))
            ? "add columns to the lines of"
            : actionOn(command);
    if (action == null) return;
    var target = command.children().head();
    var name = nameOf(target);
    if (name == null || session.sessionState().catalog().isTempView(name)) return;
    var parts = TableNames.qualified(session, Plans.list(name));
    var last = parts.size() - 1;
    TableUsers.refuse(target.origin(), action, parts.subList(0, last), parts.get(last));
  }

  /** Returns the table whose columns a command changes, or null for any other command. */
  private CatalogTable alteredTable(LogicalPlan command) {
    return command instanceof AlterTableCommand alter ? table(alter.table()) : null;
  }

  /** Returns the verb for a command after which a table is gone or has other files, or null. */
  private static String actionOn(LogicalPlan command) {
    if (command instanceof DropTable) return "drop";
    if (command instanceof RenameTable rename) return rename.isView() ? null : "rename";
    if (command instanceof SetTableLocation) return "move";
    var replaces = command instanceof ReplaceTable || command instanceof ReplaceTableAsSelect;
    return replaces ? "replace" : null;
  }

  private void refuseSchemaInUse(UnresolvedNamespace named) {
    var name = TableNames.qualifiedSchema(session, Plans.list(named.multipartIdentifier()));
    TableUsers.refuse(named.origin(), "drop", name, null);
  }

  /**
   * Refuses statements that a Kafka table does not support, at the table's name. Spark would report
   * an unrelated error, or run them.
   */
  private void refuseForKafka(LogicalPlan command) {
    var reason = KafkaTableStatements.whyRefused(command);
    if (reason == null || command.children().isEmpty()) return;
    var target = command.children().head();
    while (target instanceof SubqueryAlias alias) target = alias.child();
    var name = nameOf(target);
    var schema = name == null ? null : schemaOf(name);
    if (schema == null || kafka(schema, name.last(), Map.of(), target.origin()) == null) return;
    throw Exceptions.raise(JetSqlException.at(target.origin(), "NOT_SUPPORTED", "0A000", reason));
  }

  private boolean isLive(LogicalPlan plan) {
    var name = nameOf(plan);
    var schema = name == null ? null : schemaOf(name);
    return schema != null && LiveTables.has(schema, name.last());
  }

  /** Returns the table name in a plan, or null for a plan without one. */
  static Seq<String> nameOf(LogicalPlan plan) {
    if (plan instanceof UnresolvedRelation relation) return relation.multipartIdentifier();
    if (plan instanceof org.apache.spark.sql.execution.datasources.CreateTable create) {
      return create.tableDesc().identifier().nameParts();
    }
    if (plan instanceof UnresolvedIdentifier identifier) return identifier.nameParts();
    if (plan instanceof UnresolvedView view) return view.multipartIdentifier();
    if (plan instanceof UnresolvedTable table) return table.multipartIdentifier();
    return plan instanceof UnresolvedTableOrView either ? either.multipartIdentifier() : null;
  }

  private static LogicalPlan target(LogicalPlan command) {
    if (command instanceof InsertIntoStatement insert) return insert.table();
    if (command instanceof org.apache.spark.sql.execution.datasources.CreateTable)
      return command; // saveAsTable
    var changes =
        command instanceof DropView
            || command instanceof DropTable
            || command instanceof CreateView
            || command instanceof CreateTable
            || command instanceof CreateTableAsSelect
            || command instanceof AlterViewAs
            || command instanceof RenameTable
            || command instanceof DeleteFromTable
            || command instanceof UpdateTable
            || command instanceof MergeIntoTable;
    if (!changes || command.children().isEmpty()) return null;
    var target = command.children().head();
    return target instanceof SubqueryAlias alias ? alias.child() : target;
  }

  /**
   * Lets a stream read all files. By default Spark's file source silently skips files that are a
   * week older than the newest one.
   *
   * <p>The option also keeps a stream and a table of the same name apart: in one query, Spark's
   * analyzer reads both as it has read the first.
   */
  private static UnresolvedRelation withAnyFileAge(UnresolvedRelation relation) {
    if (relation.options().containsKey("maxFileAge")) return relation;
    var options = new HashMap<>(relation.options().asCaseSensitiveMap());
    options.put("maxFileAge", JobContext.ANY_AGE);
    return relation.copy(
        relation.multipartIdentifier(), new CaseInsensitiveStringMap(options), true);
  }
}
