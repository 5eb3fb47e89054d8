package dev.jetsql.kafka;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/**
 * How columns are bytes of a message's key or value, by Spark's own functions: json, csv, avro, raw.
 *
 * Parsing gives a struct of the columns with one member more, which is set where the bytes don't fit them.
 */
class KafkaFormat {
  static final String[] NAMES = {"json", "csv", "avro", "raw"};
  private static final String SCHEMA_ID = "schema.id";
  private static final String READ = "__jetsql_read";
  private static final String BROKEN = "__jetsql_broken";
  // Spark writes three digits of a second unless it is told otherwise.
  private static final String TIMESTAMP = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX";

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

  /** As it is for keys: an instant is the same text in whatever zone a session writes it, and a schema is the value's. */
  KafkaFormat ofKeys() {
    KafkaTable.remove(options, "schema");
    KafkaTable.remove(options, SCHEMA_ID);
    if (!options.containsKey("timeZone")) options.put("timeZone", "UTC");
    return this;
  }

  /** Whether a text is a value of the type, and the other way round. */
  static boolean isText(DataType type) {
    return !(type instanceof ArrayType || type instanceof MapType || type instanceof StructType
        || type instanceof DayTimeIntervalType || type instanceof YearMonthIntervalType);
  }

  /** What a format can't carry of a column, as a predicate to it; null when it can. */
  static String cannotBe(String format, DataType type) {
    if (format.equalsIgnoreCase("raw")) return isText(type) ? null : "is no text";
    if (format.equalsIgnoreCase("csv")) {
      return isText(type) && !type.equals(DataTypes.BinaryType) ? null : "can't be written as csv";
    }
    return format.equalsIgnoreCase("json") ? notInJson(type) : null;
  }

  private static String notInJson(DataType type) {
    if (type instanceof ArrayType) return notInJson(((ArrayType) type).elementType());
    if (type instanceof MapType) {
      if (!(((MapType) type).keyType() instanceof StringType)) return "has a MAP whose keys are no STRING, as JSON wants them";
      return notInJson(((MapType) type).valueType());
    }
    if (!(type instanceof StructType)) return null;
    StructField[] fields = ((StructType) type).fields();
    for (int i = 0; i < fields.length; i++) if (notInJson(fields[i].dataType()) != null) return notInJson(fields[i].dataType());
    return null;
  }

  /** The columns of the bytes, as a struct; NULL for none. */
  Column parsed(Column bytes) { return parsed(bytes, columns); }

  private Column parsed(Column bytes, StructType wanted) {
    if (name.equals("raw")) return rawParsed(bytes, wanted.apply(0));
    Map given = new HashMap(options);
    given.put("mode", "PERMISSIVE");
    if (name.equals("avro")) return avroParsed(bytes, wanted, given);
    given.put("columnNameOfCorruptRecord", BROKEN);
    StructType whole = wanted.add(BROKEN, DataTypes.StringType);
    Column text = bytes.cast(DataTypes.StringType);
    return name.equals("csv") ? functions.from_csv(text, functions.lit(whole.toDDL()), given) : functions.from_json(text, whole, given);
  }

  /** The columns from the fields of their names, whichever order and number types the schema has for them. */
  private Column avroParsed(Column bytes, StructType wanted, Map given) {
    byte[] header = header();
    Column own = header.length == 0 ? bytes : functions.when(begin(bytes).equalTo(functions.lit(header)),
        functions.substring(bytes, header.length + 1, Integer.MAX_VALUE));
    Object evolved = KafkaTable.find(given, "avroSchema");
    given.put(evolved == null ? "avroSchema" : evolved, marked(evolved == null ? avroSchema() : (String) given.get(evolved)));
    Column found = functions.call_function("from_avro", new Column[] {own, functions.lit(avroSchema()), map(given)});
    StructType fields = avroFields(avroSchema());
    List members = new ArrayList();
    for (int i = 0; i < wanted.length(); i++) {
      StructField column = wanted.apply(i);
      String field = named(fields, column.name());
      members.add((field == null ? functions.lit(null) : found.getField(field)).cast(column.dataType()).as(column.name()));
    }
    return functions.when(found.getField(READ), functions.struct((Column[]) members.toArray(new Column[0])));
  }

  /** A schema with one field more, which no message has and each that is read gets: from what is no record of the schema
   * Spark makes a row all of whose fields are NULL. */
  private static String marked(String schema) {
    Schema given = new Schema.Parser().parse(schema);
    List fields = new ArrayList();
    Iterator each = given.getFields().iterator();
    while (each.hasNext()) {
      Schema.Field field = (Schema.Field) each.next();
      fields.add(new Schema.Field(field, field.schema()));
    }
    fields.add(new Schema.Field(READ, Schema.create(Schema.Type.BOOLEAN), null, Boolean.TRUE));
    return Schema.createRecord(given.getName(), given.getDoc(), given.getNamespace(), given.isError(), fields).toString();
  }

  private Column avroWritten(Column[] values) {
    StructField[] fields = avroFields(avroSchema()).fields();
    List members = new ArrayList();
    for (int i = 0; i < fields.length; i++) {
      Column value = functions.lit(null);
      for (int k = 0; k < columns.length(); k++) {
        if (columns.apply(k).name().equalsIgnoreCase(fields[i].name())) value = values[k];
      }
      members.add(value.cast(fields[i].dataType()).as(fields[i].name()));
    }
    Column row = functions.struct((Column[]) members.toArray(new Column[0]));
    Column record = functions.call_function("to_avro", new Column[] {row, functions.lit(avroSchema())});
    return functions.concat(new Column[] {functions.lit(header()), record});
  }

  /** What clients of a schema registry put before a record: a zero, and the number of its schema in four bytes. */
  private byte[] header() {
    Object id = KafkaTable.find(options, SCHEMA_ID);
    if (id == null) return new byte[0];
    return ByteBuffer.allocate(5).putInt(1, Integer.parseInt((String) options.get(id))).array();
  }

  private static Column begin(Column bytes) { return functions.substring(bytes, 1, 5); }

  /** The fields of an Avro schema, which must be a record. Throws what Avro says of another text. */
  static StructType avroFields(String schema) {
    Object type = SchemaConverters.toSqlType(new Schema.Parser().parse(schema)).dataType();
    if (type instanceof StructType) return (StructType) type;
    throw new IllegalArgumentException("it is no record");
  }

  /** As the fields spell a name; null for none of them. */
  static String named(StructType fields, String name) {
    String[] names = fields.fieldNames();
    for (int i = 0; i < names.length; i++) if (names[i].equalsIgnoreCase(name)) return names[i];
    return null;
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
    if (name.equals("avro")) return reasonInAvro(bytes);
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

  private Column reasonInAvro(Column bytes) {
    Column words = functions.lit("it is no avro of these columns");
    Column zero = functions.substring(bytes, 1, 1).equalTo(functions.lit(new byte[1]));
    byte[] header = header();
    if (header.length == 0) {
      return functions.when(zero, functions.lit("it is no avro of these columns (should clients of a schema registry have"
          + " written it, the option 'avro.schema.id' is missing)")).otherwise(words);
    }
    return functions.when(begin(bytes).equalTo(functions.lit(header)), words)
        .otherwise(functions.lit("it does not begin with the number of the schema that 'avro.schema.id' says"));
  }

  /** The bytes of a row's columns. */
  Column written(Column[] values) {
    if (name.equals("raw")) {
      DataType type = columns.apply(0).dataType();
      if (type.equals(DataTypes.BinaryType)) return values[0];
      return (type.equals(DataTypes.TimestampType) ? instant(values[0]) : values[0].cast(DataTypes.StringType))
          .cast(DataTypes.BinaryType);
    }
    Column row = functions.struct(values);
    if (name.equals("avro")) return avroWritten(values);
    Map given = new HashMap(options);
    if (!given.containsKey("timestampFormat")) given.put("timestampFormat", TIMESTAMP);
    if (!given.containsKey("timestampNTZFormat")) given.put("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS");
    Column text = name.equals("csv") ? functions.to_csv(row, given) : functions.to_json(row, given);
    return text.cast(DataTypes.BinaryType);
  }

  /** A point in time as text that says its zone, UTC: as text alone it would be another one in another session's zone. */
  private static Column instant(Column value) {
    Map given = new HashMap();
    given.put("timestampFormat", TIMESTAMP);
    given.put("timeZone", "UTC");
    return functions.when(value.isNotNull(), functions.to_csv(functions.struct(new Column[] {value}), given));
  }

  private String avroSchema() {
    Object given = KafkaTable.find(options, "schema");
    if (given != null) return (String) options.get(given);
    return SchemaConverters.toAvroType(columns, false, "topLevelRecord", "").toString();
  }

  private static Column map(Map options) {
    List pairs = new ArrayList();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      String key = (String) entry.getKey();
      if (key.equalsIgnoreCase("schema") || key.equalsIgnoreCase(SCHEMA_ID)) continue;
      pairs.add(functions.lit(entry.getKey()));
      pairs.add(functions.lit(entry.getValue()));
    }
    return functions.map((Column[]) pairs.toArray(new Column[0]));
  }
}
