package dev.jetsql.records;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Sequences;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.CreateJacksonParser;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JSONOptionsInRead;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.execution.datasources.CodecStreams;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Function2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's JSON files, with the columns of `FileColumns`. A line, or a file with `multiLine`, is one
 * object, or an array of them; text after it does not fit.
 */
public class CheckedJsonFormat extends JsonFileFormat {
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
    var parsed = new JSONOptionsInRead(options, zone, FileColumns.BROKEN);
    return new Reader(session, dataSchema, requiredSchema, conf, parsed);
  }

  private static final class Reader extends CheckedReader {
    private static final long serialVersionUID = 1L;

    private final JSONOptions options;

    Reader(
        SparkSession session,
        StructType columns,
        StructType required,
        Configuration conf,
        JSONOptions options) {
      super(session, columns, required, conf);
      this.options = options;
    }

    @Override
    Rows open(PartitionedFile file, Configuration conf) throws IOException {
      if (options.multiLine()) {
        var parser =
            this.<Path>parser(
                (factory, path) -> whole(factory, path, conf), path -> text(path, conf));
        return new Rows(parser.parse(file.toPath()), null);
      }
      byte[] separator =
          options.lineSeparatorInRead().isEmpty() ? null : options.lineSeparatorInRead().get();
      var lines = closing(new FileLines(file, separator, conf));
      var parser = this.<Text>parser(this::line, this::text);
      return new Rows(lines.flatMap(parser::parse), lines);
    }

    private <T> FailureSafeParser<T> parser(
        Function2<JsonFactory, T, JsonParser> open, Function<T, UTF8String> text) {
      var parser = new JacksonParser(columns, options, true, Sequences.<Filter>of());
      return new FailureSafeParser<>(
          input ->
              parser.parse(
                  input, (factory, each) -> new WholeJson(open.apply(factory, each)), text::apply),
          options.parseMode(),
          parsed(),
          FileColumns.BROKEN);
    }

    private JsonParser line(JsonFactory factory, Text line) {
      return options.encoding().isEmpty()
          ? CreateJacksonParser.text(factory, line)
          : CreateJacksonParser.text(options.encoding().get(), factory, line);
    }

    private JsonParser whole(JsonFactory factory, Path path, Configuration conf) {
      var stream = CodecStreams.createInputStreamWithCloseResource(conf, path);
      return options.encoding().isEmpty()
          ? CreateJacksonParser.inputStream(factory, stream)
          : CreateJacksonParser.inputStream(options.encoding().get(), factory, stream);
    }

    private UTF8String text(Path path, Configuration conf) {
      try (InputStream stream = CodecStreams.createInputStream(conf, path)) {
        byte[] bytes = stream.readAllBytes();
        return text(bytes, bytes.length);
      } catch (IOException e) {
        throw Exceptions.raise(e);
      }
    }

    private UTF8String text(Text line) {
      return text(line.getBytes(), line.getLength());
    }

    /** Returns a text in UTF-8; the bytes as they are if no encoding is given. */
    private UTF8String text(byte[] bytes, int length) {
      return options.encoding().isEmpty()
          ? UTF8String.fromBytes(bytes, 0, length).copy()
          : UTF8String.fromString(
              new String(bytes, 0, length, Charset.forName(options.encoding().get())));
    }
  }
}
