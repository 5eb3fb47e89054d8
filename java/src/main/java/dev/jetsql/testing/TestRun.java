package dev.jetsql.testing;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;

import dev.jetsql.common.Sequences;
import dev.jetsql.expectations.CheckedRows;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.rewrites.BatchPart;
import dev.jetsql.stream.LateRows;
import dev.jetsql.stream.Queries;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.util.AccumulatorV2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The run of a streaming job in a unit test: its query over tables in memory. A step of the test is
 * a batch, and the batches without rows that follow it in production.
 */
public final class TestRun {
  private static final String DROPPED = "numRowsDroppedByWatermark";
  private static final long POLL_MILLIS = 20;

  private final SparkSession session;
  private final TestClock clock;
  private final List<MemorySource> sources;
  private final Output output = new Output();
  private final List<TestSink> sinks;
  private final BatchPart part;
  private final List<BatchPart> branches;
  private final LogicalPlan query;
  private final Map<String, MemoryTable> deadLetters = new HashMap<>();
  private final Map<String, MemoryTable> violations = new HashMap<>();
  private String rules;
  private MemoryTable lateRowsTable;
  private String job;
  private StreamingQuery running;
  private final AtomicInteger batches = new AtomicInteger();
  private final AtomicLong lateRows = new AtomicLong();

  /**
   * Creates the run of a query.
   *
   * @param sinks the tables that the job writes, in the order of its branches
   * @param part what runs over the rows of each batch, or null
   */
  public static TestRun of(
      SparkSession session,
      MemoryTables tables,
      LogicalPlan query,
      List<TestSink> sinks,
      BatchPart part,
      List<BatchPart> branches,
      long millis) {
    return new TestRun(session, tables, query, sinks, part, branches, millis);
  }

  private TestRun(
      SparkSession session,
      MemoryTables tables,
      LogicalPlan query,
      List<TestSink> sinks,
      BatchPart part,
      List<BatchPart> branches,
      long millis) {
    this.session = session;
    this.clock = new TestClock(millis);
    this.sources = new ArrayList<>();
    this.query = tables.inMemory(query, millis, sources);
    this.sinks = sinks;
    this.part = part;
    this.branches = branches;
  }

  /** Keeps late rows in a table. job: the name of the job */
  public void keepLateRows(MemoryTable table, String job) {
    lateRowsTable = table;
    this.job = job;
  }

  /** Checks the rows by rules. rules: see `CheckedRows`. job: the name of the job */
  public void checkRows(String rules, String job) {
    this.rules = rules;
    this.job = job;
  }

  /** Keeps the rows that violate rules with a table. name: the qualified name of the table */
  public void keepViolations(String name, MemoryTable table) {
    violations.put(name, table);
  }

  /** Keeps the messages of a Kafka table that do not fit its columns. source: its qualified name */
  public void keepDeadLetters(String source, MemoryTable table) {
    deadLetters.put(source, table);
  }

  /** Runs a job without streams. */
  public void runOnce() {
    output.write(Dataset.ofRows(session, query), 0);
  }

  /** Starts the query, and runs the first step. */
  public void start(String name, String mode, String checkpoint) throws InterruptedException {
    for (var source : sources) source.release();
    session.conf().set("spark.sql.streaming.checkpointLocation", checkpoint);
    running =
        SparkCalls.startQuery(
            session, name, Dataset.ofRows(session, query), output, outputMode(mode), clock);
    runToIdle(0);
  }

  private static OutputMode outputMode(String mode) {
    return switch (mode) {
      case "complete" -> OutputMode.Complete();
      case "update" -> OutputMode.Update();
      default -> OutputMode.Append();
    };
  }

  /** Runs a step: a batch over the rows since the last one, at a time of the test's clock. */
  public void step(long millis) throws InterruptedException {
    clock.set(millis);
    for (var source : sources) source.release();
    int before = batches.get();
    clock.trigger();
    runToIdle(before);
  }

  /** Runs triggers until one has no batch. before: the number of batches before the first one */
  private void runToIdle(int before) throws InterruptedException {
    awaitTrigger();
    while (running.isActive() && batches.get() > before) {
      before = batches.get();
      clock.trigger();
      awaitTrigger();
    }
  }

  private void awaitTrigger() throws InterruptedException {
    while (running.isActive() && !clock.awaitEnd(POLL_MILLIS)) {
      if (Thread.interrupted()) throw new InterruptedException();
    }
  }

  /** Returns the error that ended the query, or null. */
  public Throwable failure() {
    return Queries.failure(running);
  }

  /** Returns the number of rows that the watermark has dropped. */
  public long lateRows() {
    return lateRows.get();
  }

  /** Returns the number of batches. */
  public int batches() {
    return batches.get();
  }

  /** Returns the watermark in milliseconds since the epoch; 0 before the first one. */
  public long watermark() {
    var progress = running.lastProgress();
    var text = progress == null ? null : progress.eventTime().get("watermark");
    return text == null ? 0 : java.time.Instant.parse(text).toEpochMilli();
  }

  /** Stops the query. */
  public void stop() throws Exception {
    if (running != null && running.isActive()) running.stop();
  }

  /** The sink of the query, which writes the rows of each batch to the tables. */
  private final class Output implements Sink {
    @Override
    public void addBatch(long batch, org.apache.spark.sql.Dataset<Row> given) {
      var execution = (IncrementalExecution) ((Dataset<Row>) given).queryExecution();
      var collected = List.of(execution.executedPlan().executeCollect());
      var plan = execution.analyzed();
      write(MemoryTables.rows(session, plan.output(), collected), batch);
      readLateRows(execution.executedPlan(), batch);
      readDeadLetters();
      batches.incrementAndGet();
    }

    private void write(Dataset<Row> rows, long batch) {
      long millis = clock.getTimeMillis();
      var stored = rows;
      if (part != null) stored = part.applyAt(stored, millis);
      if (rules != null) stored = check(stored, batch);
      if (branches.isEmpty()) sinks.get(0).write(stored, millis);
      for (int i = 0; i < branches.size(); i++)
        sinks.get(i).write(branches.get(i).applyAt(stored, millis), millis);
    }

    /** Returns the rows that the sinks get. */
    private Dataset<Row> check(Dataset<Row> rows, long batch) {
      var checked = CheckedRows.of(rows, rules);
      var execution = checked.rows().queryExecution();
      var collected = List.of(execution.executedPlan().executeCollect());
      var stored = MemoryTables.rows(session, execution.analyzed().output(), collected);
      if (violations.isEmpty()) return stored;
      var columns = List.of(lit(job), lit(batch), col("rules"), col("row"));
      violations.forEach(
          (name, table) ->
              table.append(
                  MemoryTables.collect(
                      checked.violating(stored, name).select(Sequences.of(columns)))));
      return checked.accepted(stored);
    }

    private void readLateRows(SparkPlan plan, long batch) {
      lateRows.addAndGet(dropped(plan));
      if (lateRowsTable == null) return;
      var late = LateRows.ofBatch(session);
      if (late == null) return;
      var columns =
          List.of(
              lit(job), lit(batch), col("watermark"), col("source"), col("event_time"), col("row"));
      lateRowsTable.append(MemoryTables.collect(late.select(Sequences.of(columns))));
    }

    private void readDeadLetters() {
      for (var source : sources) {
        var messages = source.takeBatch();
        var table = source.kafka() == null ? null : deadLetters.get(source.kafka().name());
        if (table == null || messages.isEmpty()) continue;
        var read = MemoryTables.rows(session, KafkaTable.MESSAGE_WITH_HEADERS, messages);
        var letters = (Dataset<Row>) source.kafka().deadLetters(read);
        table.append(MemoryTables.collect(letters));
      }
    }

    private static long dropped(SparkPlan plan) {
      long sum = 0;
      var metric = plan.metrics().get(DROPPED);
      if (metric.isDefined()) sum += (Long) ((AccumulatorV2<?, ?>) metric.get()).value();
      for (var child : CollectionConverters.asJava(plan.children())) sum += dropped(child);
      return sum;
    }
  }
}
