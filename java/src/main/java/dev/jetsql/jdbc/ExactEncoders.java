package dev.jetsql.jdbc;

import dev.jetsql.plans.Plans;
import dev.jetsql.versions.CaseClasses;
import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoder;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders.EncoderField;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders.IterableEncoder;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders.TransformingEncoder;
import org.apache.spark.sql.catalyst.encoders.Codec;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder$;
import org.apache.spark.sql.catalyst.encoders.RowEncoder$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;

/** Converts rows to objects with `ExactDate` and `ExactTimestamp`. */
final class ExactEncoders {
  private ExactEncoders() {}

  /**
   * Returns the same rows; Spark's tasks get them with exact dates and timestamps. With the API of
   * Java 8, Spark converts all values to those of `java.sql` itself.
   */
  static Dataset<Row> withExactValues(Dataset<Row> rows) {
    if (SQLConf.get().datetimeJava8ApiEnabled()) return rows;
    var spark = (org.apache.spark.sql.classic.Dataset<Row>) rows;
    var encoder = (AgnosticEncoders.RowEncoder) RowEncoder$.MODULE$.encoderFor(rows.schema());
    var fields = Plans.list(encoder.fields()).stream().map(ExactEncoders::exact).toList();
    var exact = CaseClasses.copy(encoder, Map.of("fields", toSeq(fields)));
    return new org.apache.spark.sql.classic.Dataset<>(
        spark.queryExecution(), ExpressionEncoder$.MODULE$.<Row>apply(exact));
  }

  private static <T> Seq<T> toSeq(java.util.List<T> values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  private static EncoderField exact(EncoderField field) {
    return CaseClasses.copy(field, Map.of("enc", exact(field.enc())));
  }

  private static AgnosticEncoder<?> exact(AgnosticEncoder<?> encoder) {
    if (encoder instanceof IterableEncoder<?, ?> array)
      return CaseClasses.copy(array, Map.of("element", exact(array.element())));
    if (encoder.dataType().equals(DataTypes.DateType))
      return transform(
          ExactDate.class, AgnosticEncoders.STRICT_LOCAL_DATE_ENCODER(), new DateCodec());
    if (encoder.dataType().equals(DataTypes.TimestampType))
      return transform(
          ExactTimestamp.class, AgnosticEncoders.STRICT_INSTANT_ENCODER(), new TimestampCodec());
    return encoder;
  }

  private static <I, O> AgnosticEncoder<I> transform(
      Class<I> exact, AgnosticEncoder<O> encoder, Codec<I, O> codec) {
    return new TransformingEncoder<>(
        ClassTag$.MODULE$.apply(exact), encoder, new Constant<>(codec), true);
  }

  /** A function that returns a codec. */
  private static final class Constant<T> extends AbstractFunction0<T> implements Serializable {
    private static final long serialVersionUID = 1L;

    private final T value;

    Constant(T value) {
      this.value = value;
    }

    @Override
    public T apply() {
      return value;
    }
  }

  private static final class DateCodec implements Codec<ExactDate, LocalDate> {
    private static final long serialVersionUID = 1L;

    @Override
    public LocalDate encode(ExactDate date) {
      return date.toLocalDate();
    }

    @Override
    public ExactDate decode(LocalDate day) {
      return new ExactDate(day);
    }
  }

  private static final class TimestampCodec implements Codec<ExactTimestamp, Instant> {
    private static final long serialVersionUID = 1L;

    @Override
    public Instant encode(ExactTimestamp timestamp) {
      return timestamp.toInstant();
    }

    @Override
    public ExactTimestamp decode(Instant instant) {
      return new ExactTimestamp(instant, null);
    }
  }
}
