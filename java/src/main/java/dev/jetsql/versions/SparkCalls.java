package dev.jetsql.versions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Reflection;
import dev.jetsql.common.Sequences;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.UserDefinedPythonFunction;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata$;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper$;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper.JoinStateWatermarkPredicates;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution$;
import org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import org.apache.spark.sql.execution.window.WindowEvaluatorFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.util.Clock;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The calls of Spark that differ between its versions, apart from those of {@link CaseClasses} and
 * {@link RealTimeReads}. Code that calls another version's method directly does not link.
 *
 * <p>Most methods differ only in parameters that a newer Spark has appended. Each call passes as
 * many arguments as the running Spark's method has parameters.
 */
public final class SparkCalls {
  private SparkCalls() {}

  /** Returns the Arrow schema of rows, with the default types of variables with many bytes. */
  public static Schema arrowSchema(StructType rows, String timeZone) {
    return (Schema) call(ArrowUtils$.MODULE$, "toArrowSchema", rows, timeZone, true, false, false);
  }

  /** Returns the execution of a batch of a streaming query that only plans the batch. */
  public static IncrementalExecution plannedBatch(
      SparkSession session, LogicalPlan query, OutputMode mode, boolean realTime) {
    var defaults = IncrementalExecution$.MODULE$;
    var metadata = OffsetSeqMetadata$.MODULE$;
    return create(
        IncrementalExecution.class,
        session,
        query,
        mode,
        "<none>",
        UUID.randomUUID(),
        UUID.randomUUID(),
        0L,
        Option.empty(),
        metadata.apply(0L, 0L, metadata.apply$default$3()),
        WatermarkPropagator.noop(),
        false,
        defaults.$lessinit$greater$default$12(),
        defaults.$lessinit$greater$default$13(),
        defaults.$lessinit$greater$default$14(),
        false,
        realTime);
  }

  /** Returns whether Spark's real-time mode supports a node of a plan. */
  public static boolean isRealTime(SparkPlan node) {
    var list = RealTimeModeAllowlist$.MODULE$;
    if (SparkVersion.isAtLeast(4, 3)) return (boolean) call(list, "isAllowed", node);
    var names = (scala.collection.Set<?>) call(list, "allowedOperators");
    return CollectionConverters.asJava(names).contains(node.getClass().getName());
  }

  /** Returns a plan over rows that have been computed. */
  public static LogicalRDD rows(
      Seq<Attribute> columns, RDD<InternalRow> rows, SparkSession session) {
    return create(
        LogicalRDD.class,
        columns,
        rows,
        new UnknownPartitioning(0),
        scala.collection.immutable.Nil$.MODULE$,
        false,
        Option.empty(),
        session,
        Option.empty(),
        Option.empty(),
        false);
  }

  /** Returns the log of the offsets of a query's batches. */
  public static HDFSMetadataLog<Object> offsetLog(SparkSession session, String folder) {
    return withAnyEntries(create(OffsetSeqLog.class, session, folder, false));
  }

  /** Returns the log of a query's committed batches. */
  public static HDFSMetadataLog<Object> commitLog(SparkSession session, String folder) {
    return withAnyEntries(create(CommitLog.class, session, folder, false));
  }

  /** Returns the entry of a batch in a log. The class of the entries differs between versions. */
  public static Option<Object> entry(HDFSMetadataLog<?> log, long batch) {
    return withAnyEntries(log).get(batch);
  }

  @SuppressWarnings("unchecked")
  private static HDFSMetadataLog<Object> withAnyEntries(HDFSMetadataLog<?> log) {
    return (HDFSMetadataLog<Object>) log;
  }

  /** Returns Spark's function of code in Python. */
  public static UserDefinedPythonFunction pythonFunction(
      String name, PythonFunction code, DataType type, int evalType, boolean isDeterministic) {
    return create(
        UserDefinedPythonFunction.class,
        name,
        code,
        type,
        evalType,
        isDeterministic,
        List.of(),
        List.of());
  }

  /** Returns whether a call has IGNORE NULLS; with Spark 4.2 and newer also with RESPECT NULLS. */
  public static boolean handlesNulls(UnresolvedFunction function) {
    var clause = call(function, "ignoreNulls");
    return clause instanceof Option<?> option ? option.isDefined() : (boolean) clause;
  }

  /** Returns a query with its definitions of WITH in the places of their names. */
  public static LogicalPlan inlined(LogicalPlan query) {
    return create(InlineCTE.class, true, false, false).apply(query);
  }

  /** Returns the operator that keeps the first of equal rows. */
  public static LogicalPlan distinctRows(Seq<Attribute> columns, LogicalPlan rows) {
    return create(Deduplicate.class, columns, rows, Option.empty());
  }

  /** Returns the operator that keeps the first row of a key until the watermark has passed it. */
  public static LogicalPlan firstRows(Seq<Attribute> keys, LogicalPlan rows) {
    return create(DeduplicateWithinWatermark.class, keys, rows, Option.empty());
  }

  /** Returns the distribution in which the rows of a key are in one partition. */
  public static Distribution clustered(Seq<Expression> keys) {
    return create(ClusteredDistribution.class, keys, false, Option.empty(), false);
  }

  /** Returns whether a node names a stream, which Spark before 4.2 does not do. */
  public static boolean isNamedStream(LogicalPlan node) {
    return node.getClass().getSimpleName().equals("NamedStreamingRelation");
  }

  /** Returns whether a built-in function has this name. */
  public static boolean isBuiltin(SessionCatalog catalog, String name) {
    if (SparkVersion.isAtLeast(4, 2)) return (boolean) call(catalog, "isBuiltinFunction", name);
    return (boolean) call(catalog, "isBuiltinFunction", new FunctionIdentifier(name));
  }

  /** Returns the name of a session's current catalog. */
  public static String currentCatalog(SparkSession session) {
    var manager = call(session.sessionState(), "catalogManager");
    return ((CatalogPlugin) call(manager, "currentCatalog")).name();
  }

  /** Returns the namespaces that a session's current one is nested in, and itself. */
  public static List<String> currentNamespace(SparkSession session) {
    var manager = call(session.sessionState(), "catalogManager");
    return List.of((String[]) call(manager, "currentNamespace"));
  }

  /**
   * Returns the TBLPROPERTIES of CREATE TABLE ... LIKE, or null for any other statement. Spark 4.3
   * parses another class than older ones.
   */
  @SuppressWarnings("unchecked")
  public static Map<String, String> propertiesOfLike(LogicalPlan command) {
    return command.getClass().getSimpleName().startsWith("CreateTableLike")
        ? CollectionConverters.asJava(
            (scala.collection.immutable.Map<String, String>) call(command, "properties"))
        : null;
  }

  /** Returns a catalog, or null if the session has none with this name. */
  public static CatalogPlugin catalog(SparkSession session, String name) {
    var manager = call(session.sessionState(), "catalogManager");
    if (!(boolean) call(manager, "isCatalogRegistered", name)) return null;
    return (CatalogPlugin) call(manager, "catalog", name);
  }

  /**
   * Returns the schemas in which Spark's analyzer searches a function, as catalog and namespace.
   */
  @SuppressWarnings("unchecked")
  public static Seq<Seq<String>> functionPath(SparkSession session) {
    var manager = call(session.sessionState(), "catalogManager");
    var context = AnalysisContext.get();
    if (SparkVersion.isAtLeast(4, 2)) {
      var path = call(context, "resolutionPathEntries");
      return (Seq<Seq<String>>)
          call(manager, "resolutionPathEntriesForAnalysis", path, context.catalogAndNamespace());
    }
    if (!context.catalogAndNamespace().isEmpty()) {
      return Sequences.of(List.of(context.catalogAndNamespace()));
    }
    var entry = new ArrayList<String>(List.of(currentCatalog(session)));
    entry.addAll(currentNamespace(session));
    return Sequences.of(List.of(Sequences.of(entry)));
  }

  /** Returns whether the analyzer is in the body of an SQL function, which has its own path. */
  public static boolean isInSqlFunction() {
    return SparkVersion.isAtLeast(4, 3)
        && ((Option<?>) call(AnalysisContext.get(), "resolutionPathEntries")).isDefined();
  }

  /** Returns whether SET PATH has changed where a session finds functions and tables. */
  public static boolean hasOwnPath(SparkSession session) {
    if (!SparkVersion.isAtLeast(4, 2)) return false;
    var entries = SparkVersion.isAtLeast(4, 3) ? "storedSessionPathEntries" : "sessionPathEntries";
    var manager = call(session.sessionState(), "catalogManager");
    return ((Option<?>) call(manager, entries)).isDefined();
  }

  /** Returns the conditions by which a watermark removes rows from the state of a join. */
  public static JoinStateWatermarkPredicates removedByWatermark(
      Seq<Attribute> left,
      Seq<Attribute> right,
      Seq<Expression> leftKeys,
      Seq<Expression> rightKeys,
      Option<Expression> condition) {
    var columns = List.of(left, right, leftKeys, rightKeys, condition);
    var arguments = new ArrayList<Object>(columns);
    var anyTime = Option.<Object>apply(0L);
    arguments.add(anyTime);
    if (SparkVersion.isAtLeast(4, 2)) arguments.add(anyTime); // late rows have a time of their own
    arguments.add(false);
    var helper = StreamingSymmetricHashJoinHelper$.MODULE$;
    return (JoinStateWatermarkPredicates)
        call(helper, "getStateWatermarkPredicates", arguments.toArray());
  }

  /** Returns Spark's evaluation of window functions. */
  public static WindowEvaluatorFactory windows(
      Seq<NamedExpression> functions,
      Seq<Expression> partitionBy,
      Seq<SortOrder> orderBy,
      Seq<Attribute> columns) {
    return create(
        WindowEvaluatorFactory.class,
        functions,
        partitionBy,
        orderBy,
        columns,
        new SQLMetric("size", 0),
        new SQLMetric("size", 0),
        new SQLMetric("size", 0));
  }

  /** Releases the scheduler's data of a query's jobs. Spark before 4.2 keeps none. */
  public static void releaseJobs(SparkContext context, long query) {
    if (SparkVersion.isAtLeast(4, 2)) {
      call(context.dagScheduler(), "cleanupQueryJobs", query);
    }
  }

  /** Returns what a partition of a table reads, or null if it reads nothing or several inputs. */
  public static InputPartition input(Partition partition) {
    if (!(partition instanceof DataSourceRDDPartition)) return null;
    if (SparkVersion.isAtLeast(4, 2)) {
      var input = (Option<?>) call(partition, "inputPartition");
      return input.isDefined() ? (InputPartition) input.get() : null;
    }
    var inputs = (Seq<?>) call(partition, "inputPartitions");
    return inputs.size() == 1 ? (InputPartition) inputs.head() : null;
  }

  /**
   * Starts a query that writes to a sink, with a trigger of a millisecond of a clock. The session
   * has the folder of its checkpoint as a setting.
   */
  public static StreamingQuery startQuery(
      SparkSession session,
      String name,
      Dataset<Row> rows,
      Table sink,
      OutputMode mode,
      Clock clock) {
    var manager = session.sessionState().streamingQueryManager();
    var arguments = new ArrayList<Object>(List.of(Option.apply(name)));
    // The options of a writer before its rows: newer versions have more of them.
    for (int i = 1; i < optionsOfWriter(manager); i++) arguments.add(Option.empty());
    arguments.addAll(
        List.of(rows, scala.collection.immutable.Map$.MODULE$.empty(), sink, mode, false, false));
    arguments.addAll(List.of(Trigger.ProcessingTime(1L), clock, Option.empty(), Option.empty()));
    return (StreamingQuery) call(manager, "startQuery", arguments.toArray());
  }

  private static int optionsOfWriter(Object manager) {
    for (var method : manager.getClass().getMethods())
      if (method.getName().equals("startQuery"))
        return List.of(method.getParameterTypes()).lastIndexOf(Dataset.class);
    throw new NoSuchMethodError("startQuery");
  }

  /** Creates an object with the constructor that takes the most of the arguments. */
  @SuppressWarnings("unchecked")
  private static <T> T create(Class<T> type, Object... arguments) {
    var constructor =
        (Constructor<T>) Reflection.longest(List.of(type.getConstructors()), arguments);
    try {
      return constructor.newInstance(used(constructor, arguments));
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Calls the method with a name that takes the most of the arguments, also if Scala has put the
   * name of its class before it.
   */
  private static Object call(Object target, String name, Object... arguments) {
    var named =
        Arrays.stream(target.getClass().getMethods())
            .filter(each -> each.getName().equals(name) || each.getName().endsWith("$$" + name))
            .toList();
    if (named.isEmpty()) throw new NoSuchMethodError(target.getClass().getName() + "." + name);
    var method = Reflection.longest(named, arguments);
    try {
      return method.invoke(target, used(method, arguments));
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (IllegalAccessException e) {
      throw Exceptions.raise(e);
    }
  }

  private static Object[] used(Executable called, Object[] arguments) {
    return Arrays.copyOf(arguments, called.getParameterCount());
  }
}
