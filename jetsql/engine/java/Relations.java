package dev.jetsql;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * The rules about relations: what a name in a query stands for, and how fresh its files are.
 *
 * A Spark session keeps the file list of every table that it has read. Jobs write behind its back, so each table that a
 * job writes has a version here, raised with every commit, and a session drops what it kept when the version moved. Only
 * tables of jobs pay for a new listing, only after a commit, and only when they are read.
 */
public class Relations {
  /** Set in the sessions that runs of jobs use. */
  public static final String JOB_CONF = "spark.jetsql.job";

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

  static void analyseForJob(boolean on) {
    analysing.set(on ? Boolean.TRUE : null);
  }

  public static class FreshTables extends AbstractFunction1 {
    public Object apply(Object session) {
      return new FreshTablesRule((org.apache.spark.sql.classic.SparkSession) session);
    }
  }

  public static class FreshTablesRule extends Rule {
    private final org.apache.spark.sql.classic.SparkSession session;

    public FreshTablesRule(org.apache.spark.sql.classic.SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode plan) {
      boolean forJob = analysing.get() != null;
      if (versions.isEmpty() && !forJob) return plan;
      return ((LogicalPlan) plan).resolveOperatorsDown(new OnRelation(session, forJob));
    }
  }

  static class OnRelation extends AbstractPartialFunction {
    private final org.apache.spark.sql.classic.SparkSession session;
    private final boolean forJob;

    OnRelation(org.apache.spark.sql.classic.SparkSession session, boolean forJob) {
      this.session = session;
      this.forJob = forJob;
    }

    public boolean isDefinedAt(Object node) { return node instanceof UnresolvedRelation; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      UnresolvedRelation relation = (UnresolvedRelation) node;
      refresh(relation.multipartIdentifier());
      return forJob && relation.isStreaming() ? keepOldFiles(relation) : relation;
    }

    private void refresh(Seq name) {
      SessionCatalog catalog = session.sessionState().catalog();
      if (versions.isEmpty() || name.size() > 3 || catalog.isTempView(name)) return;
      String schema = name.size() > 1 ? (String) name.apply(name.size() - 2) : currentSchema(catalog);
      String table = ("spark_catalog." + schema + "." + name.last()).toLowerCase(java.util.Locale.ROOT);
      if (moved(catalog, table)) {
        catalog.invalidateCachedTable(new TableIdentifier((String) name.last(), Option.apply((Object) schema)));
      }
    }

    /** Names in a view's text are of the schema that the view was made in. */
    private static String currentSchema(SessionCatalog catalog) {
      Seq ofView = AnalysisContext.get().catalogAndNamespace();
      return ofView.isEmpty() ? catalog.getCurrentDatabase() : (String) ofView.last();
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
      options.put("maxFileAge", "3650000d");
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
        throw Extension.Answers.raise(Extension.Failure.of("STREAM_OUTSIDE_JOB", "0A000",
            "An INSERT over a stream runs for as long as the stream does, so it must be a job."
                + " Write CREATE JOB name AS INSERT INTO ... in front of it."));
      }
      return BoxedUnit.UNIT;
    }

    private static boolean streams(LogicalPlan plan) {
      if (plan instanceof InsertIntoDataSourceCommand) return ((InsertIntoDataSourceCommand) plan).query().isStreaming();
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
      if (!catalog.tableExists(name)) throw replaced(name, "is gone");
      CatalogTable now;
      try {
        now = catalog.getTableMetadata(name);
      } catch (Exception e) {
        throw Extension.Answers.raise(e);
      }
      if (now.createTime() != then.createTime() || !now.storage().locationUri().equals(then.storage().locationUri())) {
        throw replaced(name, "was replaced");
      }
    }

    private static RuntimeException replaced(TableIdentifier name, String what) {
      return Extension.Answers.raise(Extension.Failure.of("JOB_CHANGED", "55000",
          "The table " + name.unquotedString() + ", which the job reads beside its stream, " + what + "."));
    }
  }
}
