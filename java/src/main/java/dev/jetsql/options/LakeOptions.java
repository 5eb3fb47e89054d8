package dev.jetsql.options;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The options that the connectors of Delta and Iceberg know, which JetSQL is compiled without. */
final class LakeOptions {
  private static final String DELTA = "org.apache.spark.sql.delta.DeltaOptions$";

  /** The classes whose constants are the names of the options of Iceberg. */
  private static final List<String> ICEBERG =
      List.of(
          "org.apache.iceberg.spark.SparkReadOptions",
          "org.apache.iceberg.spark.SparkWriteOptions",
          "org.apache.iceberg.TableProperties");

  private static final Map<String, List<String>> KNOWN = new ConcurrentHashMap<>();

  private LakeOptions() {}

  /** Returns whether tables of a format have a log of their own. format: in lower case */
  static boolean isLake(String format) {
    return format.equals("delta") || format.equals("iceberg");
  }

  /** Returns the options of a format; none if its connector does not list them. */
  static List<String> of(String format) {
    return KNOWN.computeIfAbsent(
        format, key -> key.equals("delta") ? ofObject(DELTA) : constants(ICEBERG));
  }

  /**
   * Returns the texts that are constants of a Scala object, the names of options. Delta's list
   * `validOptionKeys` lacks some of them.
   */
  static List<String> ofObject(String className) {
    var names = new ArrayList<String>();
    try {
      var type = Class.forName(className);
      var object = type.getField("MODULE$").get(null);
      for (var method : type.getMethods())
        if (method.getParameterCount() == 0 && method.getName().matches("[A-Z][A-Z0-9_]+"))
          if (method.invoke(object) instanceof String name) names.add(name);
    } catch (ReflectiveOperationException e) { // another version, or not loaded
      return List.of();
    }
    return names;
  }

  private static List<String> constants(List<String> classes) {
    var names = new ArrayList<String>();
    try {
      for (var name : classes)
        for (var field : Class.forName(name).getFields())
          if (isText(field) && isName(name, (String) field.get(null)))
            names.add((String) field.get(null));
    } catch (ReflectiveOperationException e) { // another version, or not loaded
      return List.of();
    }
    return names;
  }

  /**
   * Returns whether a constant is a name: those of properties have a dot or hyphen, defaults none.
   */
  private static boolean isName(String className, String value) {
    return value != null && (!className.endsWith("Properties") || value.matches("[a-z].*[.-].*"));
  }

  private static boolean isText(Field field) {
    return Modifier.isStatic(field.getModifiers()) && field.getType() == String.class;
  }
}
