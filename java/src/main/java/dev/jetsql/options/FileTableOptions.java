package dev.jetsql.options;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.Secrets;
import dev.jetsql.records.OnError;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.jdk.javaapi.CollectionConverters;

/** Checks the values of the option `on.error` of file tables, which Spark would ignore. */
public final class FileTableOptions {
  /** The options of file tables that name no file, folder, class or table, in lower case. */
  private static final Set<String> OF_USERS =
      Set.of(
          "allowbackslashescapinganycharacter",
          "allowcomments",
          "allownonnumericnumbers",
          "allownumericleadingzeros",
          "allowsinglequotes",
          "allowunquotedcontrolchars",
          "allowunquotedfieldnames",
          "charset",
          "chartoescapequoteescaping",
          "columnnameofcorruptrecord",
          "comment",
          "dateformat",
          "delimiter",
          "dropfieldifallnull",
          "emptyvalue",
          "encoding",
          "enforceschema",
          "escape",
          "escapequotes",
          "header",
          "ignoreleadingwhitespace",
          "ignorenullfields",
          "ignoretrailingwhitespace",
          "inferschema",
          "latestfirst",
          "linesep",
          "locale",
          "maxbytespertrigger",
          "maxcharspercolumn",
          "maxcolumns",
          "maxfilespertrigger",
          "mergeschema",
          "mode",
          "modifiedafter",
          "modifiedbefore",
          "multiline",
          "nanvalue",
          "negativeinf",
          "nullvalue",
          "on.error",
          "pathglobfilter",
          "positiveinf",
          "preferdate",
          "prefersdecimal",
          "primitivesasstring",
          "quote",
          "quoteall",
          "recursivefilelookup",
          "samplingratio",
          "sep",
          "timestampformat",
          "timestampntzformat",
          "timezone",
          "unescapedquotehandling");

  /** The values of `compression`; Spark loads a class with any other name. */
  private static final Set<String> CODECS =
      Set.of(
          "none",
          "uncompressed",
          "snappy",
          "gzip",
          "zstd",
          "lz4",
          "bzip2",
          "deflate",
          "zlib",
          "brotli");

  private FileTableOptions() {}

  /** Returns whether a user without ADMIN can write an option into a table of files. */
  public static boolean isForUsers(String name, String value) {
    var key = name.toLowerCase(Locale.ROOT);
    if (key.equals("compression")) return CODECS.contains(value.toLowerCase(Locale.ROOT));
    return OF_USERS.contains(key) && !Secrets.isReference(value);
  }

  /** Checks a statement that creates a table. Accepts all other statements. */
  public static void check(LogicalPlan command) {
    if (!(TableOptions.spec(command) instanceof UnresolvedTableSpec table)
        || table.provider().isEmpty()) return;
    String format = table.provider().get().toLowerCase(Locale.ROOT);
    if (!hasOption(format)) return;
    for (var option : CollectionConverters.asJava(table.optionExpression().options())) {
      if (!option._1().equalsIgnoreCase(OnError.OPTION)) continue;
      Origin value = option._2().origin();
      Object text = option._2() instanceof Literal literal ? literal.value() : null;
      checkValue(value, option._1(), String.valueOf(text), OnError.OF_TABLE);
    }
  }

  /**
   * Checks the options that a query gives for a table that is not a Kafka table, `WITH (...)`.
   *
   * @param relation the position of the table in the query
   */
  public static void checkQuery(
      Origin relation, Map<String, String> options, CatalogTable table, boolean streaming) {
    String format =
        table.provider().isDefined() ? table.provider().get().toLowerCase(Locale.ROOT) : "";
    String ofTable =
        CollectionConverters.asJava(table.storage().properties()).entrySet().stream()
            .filter(each -> each.getKey().equalsIgnoreCase(OnError.OPTION))
            .map(Map.Entry::getValue)
            .findFirst()
            .orElse(null);
    boolean hasDeadLetters = streaming && hasOption(format) && OnError.isTable(ofTable);
    for (var option : options.entrySet()) {
      String name = option.getKey();
      boolean isOnError = name.equalsIgnoreCase(OnError.OPTION);
      Origin place = OptionPositions.after(relation, name, null);
      if (isOnError && !streaming)
        throw notChangeable(
            place,
            "'"
                + name
                + "' of a table USING "
                + format
                + " applies to streams: FROM STREAM "
                + table.identifier().table()
                + ". Other queries follow the option 'mode' of Spark.");
      if (hasDeadLetters && !KnownOptions.selectsFiles(name))
        throw notChangeable(
            place,
            "Cannot set '"
                + name
                + "' in a query: a job finds the dead letters of the table "
                + table.identifier().table()
                + " by the table's own options. Create another table with this option.");
      if (isOnError)
        checkValue(
            OptionPositions.after(relation, name, option.getValue()),
            name,
            option.getValue(),
            OnError.OF_QUERY);
    }
  }

  private static void checkValue(Origin place, String name, String value, List<String> allowed) {
    boolean isAllowed =
        allowed.equals(OnError.OF_TABLE)
            ? OnError.isValid(value)
            : allowed.contains(value.toLowerCase(Locale.ROOT));
    if (isAllowed) return;
    throw error(
        place,
        "INVALID_OPTION_VALUE",
        "22023",
        "'"
            + name
            + "' is '"
            + value
            + "'. It must be one of '"
            + String.join("', '", allowed)
            + "'.");
  }

  private static boolean hasOption(String format) {
    return !format.equals("kafka") && KnownOptions.formatsOf(OnError.OPTION).contains(format);
  }

  private static RuntimeException notChangeable(Origin place, String message) {
    return error(place, "OPTION_NOT_CHANGEABLE", "42616", message);
  }

  private static RuntimeException error(
      Origin place, String condition, String state, String message) {
    throw Exceptions.raise(JetSqlException.at(place, condition, state, message));
  }
}
