package dev.jetsql.records;

import static org.apache.spark.sql.functions.col;

import dev.jetsql.plans.JobColumns;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Finds the lines in the files of a batch that do not fit the columns of their table. */
public final class FileDeadLetters {
  private FileDeadLetters() {}

  /**
   * Returns the lines that do not fit, with the reason.
   *
   * @param log the folder of the source in the checkpoint, which has the files of each batch
   * @param start the newest entry of the log before the batch; -1 for none
   * @param end the newest entry of the log in the batch
   * @param columns the columns that the job knows, a JSON array; null for all
   */
  public static Dataset<Row> of(
      SparkSession session,
      String schema,
      String name,
      String log,
      long start,
      long end,
      String columns) {
    var found = session.sharedState().externalCatalog().getTable(schema, name);
    var table = FileStream.isByOrder(found) ? found : JobColumns.with(found, columns);
    var options = new HashMap<>(CollectionConverters.asJava(table.storage().properties()));
    options.keySet().removeIf(option -> option.equalsIgnoreCase("path"));
    options.put(FileStream.CORRUPT, FileColumns.BROKEN);
    options.put(DataSource.GLOB_PATHS_KEY(), "false");
    var given = new CaseInsensitiveStringMap(options);
    var text = col(FileColumns.BROKEN);
    var reason = FileStream.reason(session, table, given, text);
    return session
        .read()
        .format(FileStream.checkedFormat(table).getName())
        .schema(FileColumns.add(table.dataSchema()))
        .options(options)
        .load(files(session, log, start, end))
        .filter(FileStream.isBroken(session, table, given, text))
        .select(
            col("_metadata.file_path").as("file"),
            col(FileColumns.LINE).as("line"),
            col(FileColumns.BROKEN).cast(DataTypes.BinaryType).as("value"),
            reason.as("reason"));
  }

  private static String[] files(SparkSession session, String log, long start, long end) {
    var entries = new FileStreamSourceLog(FileStreamSourceLog.VERSION(), session, log);
    List<String> files = new ArrayList<>();
    for (var batch : entries.get(Option.apply(start + 1), Option.apply(end)))
      for (var file : batch._2()) files.add(file.sparkPath().toPath().toString());
    return files.toArray(String[]::new);
  }
}
