package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.KafkaOptions;
import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.kafka.KafkaTables;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.QualifiedTableName;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.analysis.UnresolvedView;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.AlterViewAs;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.DropView;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.plans.logical.RefreshTable;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * The rules about relations: what a name in a query stands for, and how fresh its files are.
 *
 * Names of the engine's own relations (`LiveTables`) are given their rows here.
 *
 * A Spark session keeps the file list of every table that it has read. Jobs write behind its back, so each table that a
 * job writes has a version here, raised with every commit, and a session drops what it kept when the version moved. So
 * has each table that a client's statement changed, for the other clients' sessions: a table that was dropped and made
 * anew is else written with the columns of the old one. Only such tables pay for a new listing, and only when they are
 * read or written.
 */
public class Relations {
  /** Set in the sessions that runs of jobs use. */
  public static final String JOB_CONF = "spark.jetsql.job";
  public static final String ANY_AGE = "3650000d";

  private static final ConcurrentHashMap versions = new ConcurrentHashMap();
  private static final Map seen = new WeakHashMap();
  private static final ThreadLocal analysing = new ThreadLocal();

  /** A job has changed the files of `table` (qualified, lower case: catalog.schema.table). */
  public static void changed(String table) {
    synchronized (seen) {
      Long version = (Long) versions.get(table);
      versions.put(table, Long.valueOf(version == null ? 1L : version.longValue() + 1L));
    }
  }

  /** A statement has run: the tables that its command names may have changed. */
  public static void ran(Dataset rows) {
    LogicalPlan plan = rows.queryExecution().commandExecuted();
    if (!(plan instanceof CommandResult)) return;
    LogicalPlan command = ((CommandResult) plan).commandLogicalPlan();
    String name = command.getClass().getSimpleName();
    if (name.startsWith("Show") || name.startsWith("Describe")) return;
    Iterator members = command.productIterator();
    while (members.hasNext()) {
      Object member = members.next();
      if (member instanceof Option && ((Option) member).isDefined()) member = ((Option) member).get();
      if (member instanceof CatalogTable) member = ((CatalogTable) member).identifier();
      if (member instanceof TableIdentifier) changed(qualified((TableIdentifier) member, rows));
    }
  }

  private static String qualified(TableIdentifier table, Dataset rows) {
    SessionCatalog catalog = ((org.apache.spark.sql.classic.SparkSession) rows.sparkSession()).sessionState().catalog();
    String schema = table.database().isDefined() ? (String) table.database().get() : catalog.getCurrentDatabase();
    return ("spark_catalog." + schema + "." + table.table()).toLowerCase(java.util.Locale.ROOT);
  }

  static void analyseForJob(boolean on) {
    analysing.set(on ? Boolean.TRUE : null);
  }

  public static boolean forJob() { return analysing.get() != null; }

  public static class FreshTables extends AbstractFunction1 {
    public Object apply(Object session) {
      return new FreshTablesRule((org.apache.spark.sql.classic.SparkSession) session);
    }
  }

  public static class FreshTablesRule extends Rule {
    private final org.apache.spark.sql.classic.SparkSession session;

    public FreshTablesRule(org.apache.spark.sql.classic.SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode plan) {
      OnRelation found = new OnRelation(session, analysing.get() != null);
      if (plan instanceof RefreshTable && found.isLive(((RefreshTable) plan).child())) {
        return new NoopCommand("REFRESH TABLE", (Seq) Nil$.MODULE$);
      }
      found.refuseChange((LogicalPlan) plan);
      found.refuseForKafka((LogicalPlan) plan);
      KafkaTables.check(found.session, (LogicalPlan) plan);
      Secrets.check((LogicalPlan) plan);
      return ((LogicalPlan) plan).resolveOperatorsDown(found);
    }
  }

  static class OnRelation extends AbstractPartialFunction {
    private final org.apache.spark.sql.classic.SparkSession session;
    private final boolean forJob;

    OnRelation(org.apache.spark.sql.classic.SparkSession session, boolean forJob) {
      this.session = session;
      this.forJob = forJob;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof UnresolvedRelation || node instanceof InsertIntoStatement;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      if (node instanceof InsertIntoStatement) {
        return refreshTarget((InsertIntoStatement) node);
      }
      UnresolvedRelation relation = (UnresolvedRelation) node;
      String schema = schemaOf(relation.multipartIdentifier());
      if (schema != null) {
        String name = (String) relation.multipartIdentifier().last();
        if (LiveTables.has(schema, name)) return live(relation, name);
        refresh(schema, name);
        Map given = relation.options().asCaseSensitiveMap();
        KafkaTable kafka = kafka(schema, name, given);
        if (kafka != null) {
          KafkaOptions.checkQuery(relation.origin(), given, kafka, relation.isStreaming());
          return SubqueryAlias$.MODULE$.apply(kafka.nameParts(), new KafkaRead(kafka, relation.isStreaming()));
        }
      }
      return forJob && relation.isStreaming() ? keepOldFiles(relation) : relation;
    }

    private InsertIntoStatement refreshTarget(InsertIntoStatement insert) {
      Seq name = nameOf(insert.table());
      String schema = name == null ? null : schemaOf(name);
      if (schema == null) return insert;
      refresh(schema, (String) name.last());
      KafkaTable kafka = kafka(schema, (String) name.last(), new java.util.HashMap());
      if (kafka == null) return insert;
      if (insert.overwrite() && !forJob) throw KafkaTable.notReplaced(insert.table().origin());
      if (kafka.topic() == null && !kafka.isRaw()) {
        throw Exceptions.raise(JetSqlException.at(insert.table().origin(), "UNSUPPORTED_SINK", "0A000", "The table "
            + kafka.name() + " is for reading: its options name no 'topic' that rows could go to."));
      }
      if (insert.table() instanceof UnresolvedRelation) {
        UnresolvedRelation named = (UnresolvedRelation) insert.table();
        KafkaOptions.refuseWithInsert(named.origin(), named.options().asCaseSensitiveMap(), kafka);
      }
      return insert.copy(kafka.target(), insert.partitionSpec(), insert.userSpecifiedCols(), insert.query(),
          insert.overwrite(), insert.ifPartitionNotExists(), insert.byName(), insert.replaceCriteriaOpt(),
          insert.withSchemaEvolution());
    }

    /** The Kafka table of a name; null for everything else. A table that Spark has kept has a source of its own. */
    private KafkaTable kafka(String schema, String name, Map given) {
      SessionCatalog catalog = session.sessionState().catalog();
      try {
        if (catalog.getCachedTable(new QualifiedTableName("spark_catalog", schema, name)) != null) return null;
        CatalogTable found = session.sharedState().externalCatalog().getTable(schema, name);
        if (!KafkaTable.is(found)) return null;
        KafkaTable kafka = new KafkaTable(session, found, given);
        kafka.load();
        return kafka;
      } catch (Exception e) {
        if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
        throw Exceptions.raise(e);
      }
    }

    /** The schema that a name is of; null when it stands for nothing in the session catalogue. */
    private String schemaOf(Seq name) {
      SessionCatalog catalog = session.sessionState().catalog();
      if (name.size() > 3 || catalog.isTempView(name)) return null;
      // Names in a view's text are of the place that the view was made in.
      Seq ofView = AnalysisContext.get().catalogAndNamespace();
      String current = ofView.isEmpty()
          ? session.sessionState().catalogManager().currentCatalog().name() : (String) ofView.head();
      if (!(name.size() == 3 ? (String) name.head() : current).equalsIgnoreCase("spark_catalog")) return null;
      if (name.size() > 1) return (String) name.apply(name.size() - 2);
      return ofView.isEmpty() ? catalog.getCurrentDatabase() : (String) ofView.last();
    }

    private static LogicalPlan live(UnresolvedRelation relation, String name) {
      if (!relation.isStreaming()) return LiveTables.plan(name);
      throw Exceptions.raise(JetSqlException.at(relation.origin(), "UNSUPPORTED_QUERY", "0A000",
          "The relation jetsql." + name + " can't be read as a stream: it shows what is now. Leave out STREAM."));
    }

    /** Spark would refuse most of this with words about views, and let the rest go on. */
    void refuseChange(LogicalPlan command) {
      LogicalPlan target = target(command);
      if (target == null || !isLive(target) || !LiveTables.isConnected()) return;
      throw Exceptions.raise(JetSqlException.at(target.origin(), "RELATION_READ_ONLY", "42809",
          "The relation jetsql." + nameOf(target).last() + " shows what the engine knows: it can be read, not changed."));
    }

    /** What is not possible with a Kafka table, at its name; Spark would fail in ways of its own, or do it. */
    void refuseForKafka(LogicalPlan command) {
      String why = KafkaTables.refused(command);
      if (why == null || command.children().isEmpty()) return;
      LogicalPlan target = (LogicalPlan) command.children().head();
      while (target instanceof SubqueryAlias) target = ((SubqueryAlias) target).child();
      Seq name = nameOf(target);
      String schema = name == null ? null : schemaOf(name);
      if (schema == null || kafka(schema, (String) name.last(), new java.util.HashMap()) == null) return;
      throw Exceptions.raise(JetSqlException.at(target.origin(), "NOT_SUPPORTED", "0A000", why));
    }

    boolean isLive(LogicalPlan named) {
      Seq name = nameOf(named);
      String schema = name == null ? null : schemaOf(name);
      return schema != null && LiveTables.has(schema, (String) name.last());
    }

    /** The name that a command is about; null for a plan of another kind. */
    private static Seq nameOf(LogicalPlan named) {
      if (named instanceof UnresolvedRelation) return ((UnresolvedRelation) named).multipartIdentifier();
      if (named instanceof org.apache.spark.sql.execution.datasources.CreateTable) {
        return ((org.apache.spark.sql.execution.datasources.CreateTable) named).tableDesc().identifier().nameParts();
      }
      if (named instanceof UnresolvedIdentifier) return ((UnresolvedIdentifier) named).nameParts();
      if (named instanceof UnresolvedView) return ((UnresolvedView) named).multipartIdentifier();
      if (named instanceof UnresolvedTable) return ((UnresolvedTable) named).multipartIdentifier();
      return named instanceof UnresolvedTableOrView ? ((UnresolvedTableOrView) named).multipartIdentifier() : null;
    }

    private static LogicalPlan target(LogicalPlan command) {
      if (command instanceof InsertIntoStatement) return ((InsertIntoStatement) command).table();
      if (command instanceof org.apache.spark.sql.execution.datasources.CreateTable) return command; // saveAsTable
      boolean changes = command instanceof DropView || command instanceof DropTable || command instanceof CreateView
          || command instanceof CreateTable || command instanceof CreateTableAsSelect || command instanceof AlterViewAs
          || command instanceof RenameTable || command instanceof DeleteFromTable || command instanceof UpdateTable
          || command instanceof MergeIntoTable;
      if (!changes || command.children().isEmpty()) return null;
      LogicalPlan target = (LogicalPlan) command.children().head();
      return target instanceof SubqueryAlias ? ((SubqueryAlias) target).child() : target;
    }

    private void refresh(String schema, String name) {
      SessionCatalog catalog = session.sessionState().catalog();
      String table = ("spark_catalog." + schema + "." + name).toLowerCase(java.util.Locale.ROOT);
      if (moved(catalog, table)) {
        catalog.invalidateCachedTable(new TableIdentifier(name, Option.apply(schema)));
      }
    }

    private static boolean moved(SessionCatalog catalog, String table) {
      synchronized (seen) {
        Object version = versions.get(table);
        if (version == null) return false;
        Map known = (Map) seen.get(catalog);
        if (known == null) {
          known = new java.util.HashMap();
          seen.put(catalog, known);
        }
        return !version.equals(known.put(table, version));
      }
    }

    /** Spark's file source silently skips files that are a week older than the newest one; a job must not. */
    private static UnresolvedRelation keepOldFiles(UnresolvedRelation relation) {
      if (relation.options().containsKey("maxFileAge")) return relation;
      Map options = new java.util.HashMap(relation.options().asCaseSensitiveMap());
      options.put("maxFileAge", ANY_AGE);
      return relation.copy(relation.multipartIdentifier(), new CaseInsensitiveStringMap(options), true);
    }
  }

  /** An INSERT over a stream outside a job, which Spark refuses anyway, gets the hint to make a job of it. */
  public static class StreamsOutsideJobs extends AbstractFunction1 {
    public Object apply(Object session) { return new StreamsOutsideJobsCheck(); }
  }

  public static class StreamsOutsideJobsCheck extends AbstractFunction1 {
    public Object apply(Object plan) {
      if (analysing.get() == null && plan instanceof Command && streams((LogicalPlan) plan)) {
        throw Exceptions.raise(JetSqlException.of("STREAM_OUTSIDE_JOB", "0A000",
            "An INSERT over a stream runs for as long as the stream does, so it must be a job."
                + " Write CREATE JOB name AS INSERT INTO ... in front of it."));
      }
      return BoxedUnit.UNIT;
    }

    private static boolean streams(LogicalPlan plan) {
      if (plan instanceof InsertIntoDataSourceCommand) return ((InsertIntoDataSourceCommand) plan).query().isStreaming();
      if (plan instanceof KafkaTables.Create) return ((KafkaTables.Create) plan).streams();
      return plan.getClass().getSimpleName().startsWith("InsertInto") && plan.isStreaming();
    }
  }

  /**
   * The static side of a streaming join is as of the start of each batch: this rule runs once in the planning of each
   * one. Spark alone keeps the list of files with which the query began.
   */
  public static class StaticSides extends AbstractFunction1 {
    public Object apply(Object session) {
      return new StaticSidesRule((org.apache.spark.sql.classic.SparkSession) session);
    }
  }

  public static class StaticSidesRule extends Rule {
    private final org.apache.spark.sql.classic.SparkSession session;

    public StaticSidesRule(org.apache.spark.sql.classic.SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode plan) {
      if (!session.sessionState().conf().contains(JOB_CONF)) return plan;
      Iterator leaves = ((LogicalPlan) plan).collectLeaves().iterator();
      while (leaves.hasNext()) {
        Object leaf = leaves.next();
        if (leaf instanceof LogicalRelation && !((LogicalRelation) leaf).isStreaming()) refresh((LogicalRelation) leaf);
      }
      return plan;
    }

    private void refresh(LogicalRelation leaf) {
      if (!(leaf.relation() instanceof HadoopFsRelation)) return;
      FileIndex files = ((HadoopFsRelation) leaf.relation()).location();
      if (leaf.catalogTable().isDefined()) sameTable((CatalogTable) leaf.catalogTable().get());
      files.refresh();
    }

    private void sameTable(CatalogTable then) {
      TableIdentifier name = then.identifier();
      SessionCatalog catalog = session.sessionState().catalog();
      if (!catalog.tableExists(name)) throw changed(name, "JOB_CHANGED", "is gone");
      CatalogTable now;
      try {
        now = catalog.getTableMetadata(name);
      } catch (Exception e) {
        throw Exceptions.raise(e);
      }
      if (now.createTime() != then.createTime() || !now.storage().locationUri().equals(then.storage().locationUri())) {
        throw changed(name, "SIDE_TABLE_REPLACED", "was replaced");
      }
    }

    private static RuntimeException changed(TableIdentifier name, String condition, String what) {
      return Exceptions.raise(JetSqlException.of(condition, "55000",
          "The table " + name.unquotedString() + ", which the job reads beside its stream, " + what + "."));
    }
  }
}
