package dev.jetsql.catalog;

import dev.jetsql.common.Json;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.classic.SparkSession;

/** Qualifies names of tables and schemas as Spark resolves them in a session. */
public final class TableNames {
  private TableNames() {}

  /** Returns the parts of a table's qualified name. parts: those in a statement; JSON arrays */
  public static String qualified(SparkSession session, String parts) {
    return Json.write(qualified(session, Json.readTexts(parts)));
  }

  /** Returns the parts of a table's qualified name, which begins with the catalog. */
  public static List<String> qualified(SparkSession session, List<String> name) {
    var parts = new ArrayList<String>();
    if (name.size() > 1) {
      parts.addAll(qualifiedSchema(session, name.subList(0, name.size() - 1)));
    } else {
      parts.add(SparkCalls.currentCatalog(session));
      parts.addAll(SparkCalls.currentNamespace(session));
    }
    parts.add(name.get(name.size() - 1));
    return parts;
  }

  /** Returns the parts of a schema's qualified name, which begins with the catalog. */
  public static List<String> qualifiedSchema(SparkSession session, List<String> name) {
    if (SparkCalls.catalog(session, name.get(0)) != null) return name;
    var parts = new ArrayList<String>(List.of(SparkCalls.currentCatalog(session)));
    parts.addAll(name);
    return parts;
  }
}
