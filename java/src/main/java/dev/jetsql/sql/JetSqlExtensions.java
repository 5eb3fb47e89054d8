package dev.jetsql.sql;

import dev.jetsql.bodies.CurrentTables;
import dev.jetsql.bodies.StaticSides;
import dev.jetsql.bodies.StreamsOutsideJobs;
import dev.jetsql.catalog.AddColumnsCommand;
import dev.jetsql.catalog.MetastoreCache;
import dev.jetsql.catalog.ResolveConnectedTables;
import dev.jetsql.catalog.Sessions;
import dev.jetsql.catalog.TableRules;
import dev.jetsql.catalog.TableVersions;
import dev.jetsql.common.EventLogs;
import dev.jetsql.common.Principals;
import dev.jetsql.endpoints.AuditGate;
import dev.jetsql.failures.RowPlaces;
import dev.jetsql.flink.ProcessingTime;
import dev.jetsql.flink.ResolveWindows;
import dev.jetsql.flink.SystemTime;
import dev.jetsql.flink.WindowFunctions;
import dev.jetsql.functions.DroppedSchemas;
import dev.jetsql.functions.FunctionJars;
import dev.jetsql.functions.ListPythonFunctions;
import dev.jetsql.functions.ResolvePythonFunctions;
import dev.jetsql.jdbc.ExactPostgresDialect;
import dev.jetsql.jdbc.ExactTables;
import dev.jetsql.jdbc.JdbcSecrets;
import dev.jetsql.kafka.ResolveKafkaReads;
import dev.jetsql.kafka.ResolveKafkaTableCreation;
import dev.jetsql.lookup.LookupStrategy;
import dev.jetsql.options.SparkSettings;
import dev.jetsql.parser.Parser;
import dev.jetsql.parser.TypeArguments;
import dev.jetsql.records.ResolveFileStreams;
import dev.jetsql.rewrites.NullKeys;
import dev.jetsql.rewrites.StreamingSubqueries;
import dev.jetsql.rewrites.patterns.MatchStrategy;
import dev.jetsql.rewrites.patterns.PatternMatches;
import dev.jetsql.rights.RunningRead;
import dev.jetsql.rights.gates.ApprovedInserts;
import dev.jetsql.rights.gates.AuditObjects;
import dev.jetsql.rights.gates.CreateInferredTable;
import dev.jetsql.rights.gates.PlanGate;
import dev.jetsql.rights.gates.StatementGate;
import dev.jetsql.rights.gates.TableFiles;
import dev.jetsql.scheduling.FairPools;
import dev.jetsql.scheduling.LeakedJobCleanup;
import dev.jetsql.scheduling.UserPools;
import dev.jetsql.stream.ThriftStreamingSelects;
import dev.jetsql.versions.SparkVersion;
import dev.jetsql.watchdog.InterruptibleTasks;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.ResolveEventTimeWatermark$;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Extends Spark's sessions with the statements and tables of JetSQL, for `spark.sql.extensions`.
 *
 * <p>Every endpoint uses the parser and the rules of a session, so that JetSQL's statements work in
 * all of them.
 */
public final class JetSqlExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static ExternalCatalogWithListener watchedCatalog;

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectParser(Parser::new);
    TypeArguments.inject(extensions);
    extensions.injectHintResolutionRule(session -> new AuditGate((SparkSession) session));
    extensions.injectHintResolutionRule(session -> new UserPools((SparkSession) session));
    // The gates come first: the other rules read the catalog, and reveal secrets.
    extensions.injectHintResolutionRule(session -> new StatementGate((SparkSession) session));
    extensions.injectPostHocResolutionRule(session -> new PlanGate((SparkSession) session));
    RunningRead.setGate((session, plan) -> new PlanGate(session).apply(plan));
    extensions.injectCheckRule(session -> new PlanGate.Net((SparkSession) session));
    extensions.injectPostHocResolutionRule(session -> new AuditObjects((SparkSession) session));
    extensions.injectPostHocResolutionRule(session -> new CreateInferredTable.Replace());
    extensions.injectPostHocResolutionRule(session -> new AddColumnsCommand.Replace());
    extensions.injectHintResolutionRule(session -> new SparkSettings.CheckSet());
    extensions.injectHintResolutionRule(session -> new WindowFunctions());
    extensions.injectHintResolutionRule(session -> new SystemTime.Find());
    extensions.injectHintResolutionRule(session -> new PatternMatches.Find());
    extensions.injectHintResolutionRule(session -> new ProcessingTime((SparkSession) session));
    extensions.injectHintResolutionRule(session -> new TableRules((SparkSession) session));
    extensions.injectHintResolutionRule(
        session -> new ResolvePythonFunctions((SparkSession) session));
    extensions.injectHintResolutionRule(session -> new FunctionJars((SparkSession) session));
    extensions.injectPostHocResolutionRule(session -> new ListPythonFunctions.Replace());
    extensions.injectPostHocResolutionRule(
        session -> new StreamingSubqueries((SparkSession) session));
    extensions.injectCheckRule(session -> new StreamsOutsideJobs());
    extensions.injectPostHocResolutionRule(
        session -> new ResolveKafkaReads((SparkSession) session));
    extensions.injectPostHocResolutionRule(
        session -> new ResolveFileStreams((SparkSession) session));
    extensions.injectResolutionRule(session -> new ResolveKafkaTableCreation());
    extensions.injectResolutionRule(session -> new ResolveConnectedTables());
    extensions.injectResolutionRule(session -> new ResolveWindows());
    extensions.injectResolutionRule(session -> new SystemTime.Check());
    extensions.injectResolutionRule(session -> new PatternMatches.Resolve());
    extensions.injectPostHocResolutionRule(session -> new JdbcSecrets.RevealInQueries());
    extensions.injectPostHocResolutionRule(session -> new ExactTables.Writes());
    extensions.injectPostHocResolutionRule(session -> new ApprovedInserts((SparkSession) session));
    extensions.injectPostHocResolutionRule(
        session -> new ThriftStreamingSelects((SparkSession) session));
    extensions.injectOptimizerRule(session -> new NullKeys());
    extensions.injectPlanNormalizationRule(session -> new CurrentTables((SparkSession) session));
    extensions.injectPreCBORule(session -> new ExactTables.Reads());
    extensions.injectPreCBORule(session -> new StaticSides((SparkSession) session));
    extensions.injectPlannerStrategy(session -> new LookupStrategy());
    extensions.injectPlannerStrategy(session -> new MatchStrategy());
    extensions.injectColumnar(session -> new InterruptibleTasks());
    extensions.injectColumnar(session -> new RowPlaces((SparkSession) session));
    extensions.injectColumnar(session -> new TableFiles((SparkSession) session));
    // In Spark 4.1, the analyzer of sessions with a Hive metastore lacks the rule for WATERMARK.
    if (!SparkVersion.isAtLeast(4, 2)) {
      extensions.injectResolutionRule(session -> ResolveEventTimeWatermark$.MODULE$);
    }
    return BoxedUnit.UNIT;
  }

  /**
   * Extends a running session and every session that is created from it later. A session that was
   * started with these extensions already has the parser; any other session gets a new one.
   */
  public static void enable(SparkSession session) throws ReflectiveOperationException {
    JdbcSecrets.install();
    ExactPostgresDialect.register();
    EventLogs.redactSessions(session.sparkContext());
    LeakedJobCleanup.register(session.sparkContext());
    FairPools.install(session.sparkContext());
    MetastoreCache.install(session);
    watchCatalog(MetastoreCache.events(session));
    SparkSettings.Checked.install(session);
    if (!(session.sessionState().sqlParser() instanceof Parser)) {
      new JetSqlExtensions().apply(session.extensions());
      Sessions.renewState(session);
    }
    Principals.setSystem(session);
  }

  /** Adds the listeners of JetSQL; further calls for the same catalog have no effect. */
  private static synchronized void watchCatalog(ExternalCatalogWithListener catalog) {
    if (catalog == watchedCatalog) return;
    watchedCatalog = catalog;
    catalog.addListener(new DroppedSchemas());
    catalog.addListener(TableVersions::onEvent);
  }
}
