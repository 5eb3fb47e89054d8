package dev.jetsql;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * How columns are bytes of a message's key or value, by Spark's own functions: json, csv, avro, raw.
 *
 * Parsing gives a struct of the columns with one member more, which is set where the bytes don't fit them.
 */
class KafkaFormat {
  static final String[] NAMES = {"json", "csv", "avro", "raw"};
  private static final String BROKEN = "__broken";

  private final String name;
  private final StructType columns;
  private final Map options;

  /** options: of the table; those of the format are written `json.NAME`. */
  KafkaFormat(String name, StructType columns, Map options) {
    this.name = name.toLowerCase(Locale.ROOT);
    this.columns = columns;
    this.options = new HashMap();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      String key = (String) entry.getKey();
      if (key.toLowerCase(Locale.ROOT).startsWith(this.name + ".")) {
        this.options.put(key.substring(this.name.length() + 1), entry.getValue());
      }
    }
  }

  /** The columns of the bytes, as a struct; NULL for none. */
  Column parsed(Column bytes) { return parsed(bytes, columns); }

  private Column parsed(Column bytes, StructType wanted) {
    if (name.equals("raw")) return rawParsed(bytes, wanted.apply(0));
    Map given = new HashMap(options);
    given.put("mode", "PERMISSIVE");
    if (name.equals("avro")) return functions.call_function("from_avro", new Column[] {bytes, functions.lit(avroSchema()), map(given)});
    given.put("columnNameOfCorruptRecord", BROKEN);
    StructType whole = wanted.add(BROKEN, DataTypes.StringType);
    Column text = bytes.cast(DataTypes.StringType);
    return name.equals("csv") ? functions.from_csv(text, functions.lit(whole.toDDL()), given) : functions.from_json(text, whole, given);
  }

  private static Column rawParsed(Column bytes, StructField column) {
    DataType type = column.dataType();
    Column text = bytes.cast(DataTypes.StringType);
    Column value = type.equals(DataTypes.BinaryType) ? bytes : type.equals(DataTypes.StringType) ? text : text.try_cast(type);
    return functions.struct(new Column[] {value.as(column.name())});
  }

  /** Whether bytes that are there do not fit the columns. row: what `parsed` gave for them. */
  Column broken(Column bytes, Column row) {
    Column lost = name.equals("raw") ? row.getField(columns.apply(0).name()).isNull() : row.isNull();
    if (name.equals("json") || name.equals("csv")) lost = lost.or(row.getField(BROKEN).isNotNull());
    if (name.equals("json")) lost = lost.or(functions.left(functions.ltrim(bytes.cast(DataTypes.StringType)), functions.lit(Integer.valueOf(1))).notEqual("{"));
    return bytes.isNotNull().and(lost);
  }

  /** Why bytes don't fit, as far as it can be told: a text without a full stop. */
  Column reason(Column bytes) {
    Column text = bytes.cast(DataTypes.StringType);
    if (!name.equals("json")) {
      String words = name.equals("raw") ? "it is no " + columns.apply(0).dataType().sql() : "it is no " + name + " of these columns";
      return functions.lit(words);
    }
    List found = new ArrayList();
    for (int i = 0; i < columns.length(); i++) {
      Column one = parsed(bytes, new StructType(new StructField[] {columns.apply(i)})).getField(BROKEN);
      found.add(functions.when(one.isNotNull(), columns.apply(i).name() + " is no " + columns.apply(i).dataType().sql()));
    }
    Column members = functions.concat_ws(", ", (Column[]) found.toArray(new Column[0]));
    return functions.when(functions.try_parse_json(text).isNull(), "it is no JSON")
        .when(functions.left(functions.ltrim(text), functions.lit(Integer.valueOf(1))).notEqual("{"), "it is no JSON object")
        .otherwise(members);
  }

  /** The bytes of a row's columns. */
  Column written(Column[] values) {
    if (name.equals("raw")) {
      DataType type = columns.apply(0).dataType();
      return type.equals(DataTypes.BinaryType) ? values[0] : values[0].cast(DataTypes.StringType).cast(DataTypes.BinaryType);
    }
    Column row = functions.struct(values);
    if (name.equals("avro")) return functions.call_function("to_avro", new Column[] {row, functions.lit(avroSchema())});
    Map given = new HashMap(options);
    // Spark writes three digits of a second unless it is told otherwise.
    if (!given.containsKey("timestampFormat")) given.put("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX");
    if (!given.containsKey("timestampNTZFormat")) given.put("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS");
    Column text = name.equals("csv") ? functions.to_csv(row, given) : functions.to_json(row, given);
    return text.cast(DataTypes.BinaryType);
  }

  private String avroSchema() {
    String given = (String) options.get("schema");
    if (given != null) return given;
    return org.apache.spark.sql.avro.SchemaConverters.toAvroType(columns, false, "topLevelRecord", "").toString();
  }

  private static Column map(Map options) {
    List pairs = new ArrayList();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (entry.getKey().equals("schema")) continue;
      pairs.add(functions.lit(entry.getKey()));
      pairs.add(functions.lit(entry.getValue()));
    }
    return functions.map((Column[]) pairs.toArray(new Column[0]));
  }
}
