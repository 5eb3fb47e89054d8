package dev.jetsql.records;

import dev.jetsql.common.Sequences;
import java.io.IOException;
import java.nio.charset.Charset;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.csv.CSVHeaderChecker;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.catalyst.csv.UnivocityParser;
import org.apache.spark.sql.execution.datasources.CodecStreams;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's CSV files, with the columns of `FileColumns`. */
public class CheckedCsvFormat extends CSVFileFormat {
  private static final long serialVersionUID = 1L;

  @Override
  public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
    return super.isSplitable(session, options, path) && CheckedReader.isPlain(session, path);
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession session,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration conf) {
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    var parsed = new CSVOptions(options, false, zone, FileColumns.BROKEN);
    return new Reader(session, dataSchema, requiredSchema, conf, parsed);
  }

  private static final class Reader extends CheckedReader {
    private static final long serialVersionUID = 1L;

    private final CSVOptions options;

    Reader(
        SparkSession session,
        StructType columns,
        StructType required,
        Configuration conf,
        CSVOptions options) {
      super(session, columns, required, conf);
      this.options = options;
    }

    @Override
    Rows open(PartitionedFile file, Configuration conf) throws IOException {
      var parser = new UnivocityParser(columns, columns, options, Sequences.<Filter>of());
      var header =
          new CSVHeaderChecker(
              columns, options, "CSV file: " + file.urlEncodedPath(), file.start() == 0);
      if (options.multiLine()) {
        var stream = CodecStreams.createInputStreamWithCloseResource(conf, file.toPath());
        return new Rows(UnivocityParser.parseStream(stream, parser, header, parsed()), null);
      }
      byte[] separator =
          options.lineSeparatorInRead().isEmpty() ? null : options.lineSeparatorInRead().get();
      var lines = closing(new FileLines(file, separator, conf));
      Charset charset = Charset.forName(options.charset());
      Iterator<String> texts =
          lines.map(line -> new String(line.getBytes(), 0, line.getLength(), charset));
      return new Rows(UnivocityParser.parseIterator(texts, parser, header, parsed()), lines);
    }
  }
}
