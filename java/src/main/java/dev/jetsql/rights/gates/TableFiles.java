package dev.jetsql.rights.gates;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.connections.TableLocations;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Rights;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks that the files which a table of files reads are below its location, in every query and
 * every batch of a job, of any user. Spark lists the files below a location, but it also follows
 * the log that its sink of files leaves there (`_spark_metadata`). A user who can write into the
 * folder by other means can name any file in it.
 *
 * <p>Partitions with a location of their own are in the catalog, where only an ADMIN puts them.
 * Delta and Iceberg read by logs of their own, so that their tables at a location are for an ADMIN.
 */
public final class TableFiles extends ColumnarRule {
  private final Rule<SparkPlan> rule;

  public TableFiles(SparkSession session) {
    rule = new Check(session);
  }

  @Override
  public Rule<SparkPlan> preColumnarTransitions() {
    return rule;
  }

  private static final class Check extends Rule<SparkPlan> {
    private final SparkSession session;

    Check(SparkSession session) {
      this.session = session;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      if (Rights.current() == null) return plan;
      for (var leaf : CollectionConverters.asJava(plan.collectLeaves()))
        if (leaf instanceof FileSourceScanExec scan) check(scan);
      return plan;
    }

    private void check(FileSourceScanExec scan) {
      var table = folder(CollectionConverters.asJava(scan.relation().options()));
      if (table == null) return;
      for (var file : places(scan.relation().location()).toList()) {
        if (!table.covers(TableLocations.of(session, file)))
          throw Exceptions.raise(
              JetSqlException.of(
                  "NOT_ALLOWED",
                  "42501",
                  "The log _spark_metadata in the location of a table names a file outside of the"
                      + " location. Remove the log, or create the table at the folder that the log"
                      + " was written for."));
      }
    }

    /** Returns the location of the table, or of the table of a stream; null without a table. */
    private Location folder(Map<String, String> options) {
      for (var name : List.of("path", "basePath")) {
        var path = options.get(name);
        if (path != null && !path.matches(".*[*?\\[{].*"))
          return TableLocations.of(session, new Path(path).toUri());
      }
      return null;
    }

    /** Returns what is read: the files of a log, or the folders and files that are listed. */
    private static Stream<URI> places(FileIndex index) {
      return switch (index.getClass().getSimpleName()) {
        case "MetadataLogFileIndex" -> Stream.of(index.inputFiles()).map(URI::create);
        case "InMemoryFileIndex" ->
            CollectionConverters.asJava(index.rootPaths()).stream().map(Path::toUri);
        default -> Stream.of();
      };
    }
  }
}
