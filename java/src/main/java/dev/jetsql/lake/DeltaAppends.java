package dev.jetsql.lake;

import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Reflection;
import dev.jetsql.common.Sequences;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Adds the rows of a batch to a Delta table with one commit, which notes the batch.
 *
 * <p>Delta's writer has the options `txnAppId` and `txnVersion` for the note. With them, it
 * searches for an earlier note in the whole state of the table, which takes several times as long
 * as a small batch. The job knows the notes up to a version, so only the commits since then are
 * read here. The commit itself is checked by Delta: it fails if another one with the same
 * application has come first.
 *
 * <p>Delta's classes are called by reflection, because Delta has no release for the Spark that
 * JetSQL is built with. Its release for an older one would compile (23 members, the same in 4.3.1
 * and 4.4.0), but every build would download 9.6 MB more for it, and a build that cannot would lack
 * this class.
 */
public final class DeltaAppends {
  private static final String PACKAGE = "org.apache.spark.sql.delta.";
  private static final long NONE = -1L;

  private DeltaAppends() {}

  /** Returns the version of the Delta that a table uses, such as "4.4.0". */
  public static String version(SparkSession session, String parts) {
    var loader = CatalogTables.load(session, parts).getClass().getClassLoader();
    try {
      var delta = Class.forName("io.delta.package$", true, loader).getField("MODULE$").get(null);
      return (String) Reflection.call(delta, "VERSION");
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Returns the newest batch of a writer as a JSON object: "version" is the newest version of the
   * table, and "batch" the newest batch in the commits after `since`, or -1.
   *
   * @param parts the parts of the table's qualified name, a JSON array
   * @param since the version up to which the notes are known; -1 to read the state of the table
   */
  public static String newest(SparkSession session, String parts, String writer, long since) {
    return ActiveSession.call(session, () -> newestIn(session, parts, writer, since));
  }

  private static String newestIn(SparkSession session, String parts, String writer, long since) {
    var table = CatalogTables.load(session, parts);
    var snapshot = Reflection.call(table, "update");
    var version = (Long) Reflection.call(snapshot, "version");
    var known = since >= 0 && since <= version;
    var found = Json.MAPPER.createObjectNode();
    found.put("version", version);
    found.put(
        "batch", known ? inCommits(table, since, version, writer) : inState(snapshot, writer));
    found.put("tail", known);
    return Json.write(found);
  }

  private static long inState(Object snapshot, String writer) {
    var version =
        (Option<?>) Reflection.call(Reflection.call(snapshot, "transactions"), "get", writer);
    return version.isDefined() ? (Long) version.get() : NONE;
  }

  /** Returns the newest batch of a writer in the commits after `since` up to `version`. */
  private static long inCommits(Table table, long since, long version, String writer) {
    if (since >= version) return NONE;
    var newest = NONE;
    var catalogTable = Reflection.call(table, "catalogTable");
    var commits =
        (Iterator<?>)
            Reflection.call(
                Reflection.call(table, "deltaLog"),
                "getChanges",
                since + 1,
                version,
                catalogTable,
                true);
    while (commits.hasNext()) {
      var actions = (Seq<?>) ((Tuple2<?, ?>) commits.next())._2();
      for (var action : CollectionConverters.asJava(actions)) {
        if (action.getClass().getSimpleName().equals("SetTransaction")
            && writer.equals(Reflection.call(action, "appId")))
          newest = Math.max(newest, (Long) Reflection.call(action, "version"));
      }
    }
    return newest;
  }

  /**
   * Adds rows to a table, and returns their number, or -1 if it is unknown. Throws Delta's
   * exceptions for conflicts, and DELIVERY_INTERRUPTED if another run of the writer has written
   * since `since`.
   */
  public static long append(
      SparkSession session,
      String parts,
      String writer,
      long batch,
      long since,
      Dataset<Row> rows) {
    return ActiveSession.call(
        session,
        () -> {
          try {
            return append(session, CatalogTables.load(session, parts), writer, batch, since, rows);
          } catch (ReflectiveOperationException e) {
            throw Exceptions.raise(e);
          }
        });
  }

  private static long append(
      SparkSession session, Table table, String writer, long batch, long since, Dataset<Row> rows)
      throws ReflectiveOperationException {
    var transaction = Reflection.call(table, "startTransaction", Option.empty());
    var version = (Long) Reflection.call(Reflection.call(transaction, "snapshot"), "version");
    if (inCommits(table, since, version, writer) != NONE) throw overtaken(batch);
    @SuppressWarnings("unchecked")
    var read = (ArrayBuffer<String>) Reflection.call(transaction, "readTxn");
    read.addOne(writer);
    var loader = table.getClass().getClassLoader();
    var columns = partitionColumns(transaction);
    var command = command(loader, table, options(session, loader, writer, batch), rows);
    var written =
        Reflection.call(
            command,
            "writeAndReturnCommitData",
            transaction,
            session,
            Option.empty(),
            Reflection.call(command, "writeAndReturnCommitData$default$4"));
    var actions = (Seq<?>) Reflection.call(written, "actions");
    Reflection.call(
        transaction,
        "commitIfNeeded",
        actions,
        operation(loader, columns),
        Reflection.call(written, "stringTags"));
    return count(actions);
  }

  private static Object command(ClassLoader loader, Table table, Object options, Dataset<Row> rows)
      throws ReflectiveOperationException {
    var companion =
        Class.forName(PACKAGE + "commands.WriteIntoDelta$", true, loader)
            .getField("MODULE$")
            .get(null);
    return Reflection.call(
        companion,
        "apply",
        Reflection.call(table, "deltaLog"),
        SaveMode.Append,
        options,
        Sequences.of(),
        Map$.MODULE$.empty(),
        rows,
        Reflection.call(table, "catalogTable"),
        Option.empty(),
        Reflection.call(companion, "apply$default$9"));
  }

  private static Object options(SparkSession session, ClassLoader loader, String writer, long batch)
      throws ReflectiveOperationException {
    var given = Map.of("txnAppId", writer, "txnVersion", Long.toString(batch));
    for (var constructor : Class.forName(PACKAGE + "DeltaOptions", true, loader).getConstructors())
      if (constructor.getParameterTypes()[0] == scala.collection.immutable.Map.class)
        return constructor.newInstance(
            scala.collection.immutable.Map.from(CollectionConverters.asScala(given)),
            session.sessionState().conf());
    throw new NoSuchMethodException("DeltaOptions");
  }

  private static Seq<?> partitionColumns(Object transaction) {
    var metadata = Reflection.call(Reflection.call(transaction, "snapshot"), "metadata");
    return (Seq<?>) Reflection.call(metadata, "partitionColumns");
  }

  /** Returns the description of the commit in the history of the table. */
  private static Object operation(ClassLoader loader, Seq<?> partitionColumns)
      throws ReflectiveOperationException {
    var constructor =
        Class.forName(PACKAGE + "DeltaOperations$Write", true, loader).getConstructors()[0];
    var arguments = new Object[constructor.getParameterCount()];
    Arrays.fill(arguments, Option.empty());
    arguments[0] = SaveMode.Append;
    arguments[1] = Option.apply(partitionColumns);
    return constructor.newInstance(arguments);
  }

  private static long count(Seq<?> actions) {
    var rows = 0L;
    for (var action : List.copyOf(CollectionConverters.asJava(actions))) {
      if (!action.getClass().getSimpleName().equals("AddFile")) continue;
      var records = (Option<?>) Reflection.call(action, "numPhysicalRecords");
      if (records.isEmpty()) return NONE;
      rows += (Long) records.get();
    }
    return rows;
  }

  /** Returns the error of a run whose batch another run has written. */
  static RuntimeException overtaken(long batch) {
    return Exceptions.raise(
        JetSqlException.of(
            "DELIVERY_INTERRUPTED",
            "55000",
            "The batch was not written: another run of the job wrote batch "
                + batch
                + " at the same time."));
  }
}
