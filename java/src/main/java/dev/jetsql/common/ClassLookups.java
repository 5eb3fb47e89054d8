package dev.jetsql.common;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import py4j.reflection.ClassLoadingStrategy;
import py4j.reflection.CurrentThreadClassLoadingStrategy;
import py4j.reflection.ReflectionUtil;

/**
 * Finds classes for Py4J without searching some 300 jars for what is no class.
 *
 * <p>For `jvm.org.apache.X`, Py4J asks for the classes `org`, `java.lang.org`, `org.apache` and so
 * on, every time. PySpark asks for fifteen names when it converts an error of Spark.
 */
public final class ClassLookups implements ClassLoadingStrategy {
  private static final Pattern PACKAGE = Pattern.compile("(.*\\.)?[a-z0-9_]+");

  private final ClassLoadingStrategy all;
  private final Set<String> packages = ConcurrentHashMap.newKeySet();

  ClassLookups(ClassLoadingStrategy all) {
    this.all = all;
  }

  public static void install() {
    ReflectionUtil.setClassLoadingStrategy(
        new ClassLookups(new CurrentThreadClassLoadingStrategy()));
  }

  @Override
  public Class<?> classForName(String name) throws ClassNotFoundException {
    if (packages.contains(name)) throw new ClassNotFoundException(name);
    // No jar can have classes of these packages.
    if (name.startsWith("java.")) {
      return Class.forName(name, true, ClassLoader.getPlatformClassLoader());
    }
    try {
      return all.classForName(name);
    } catch (ClassNotFoundException error) {
      // Any other name may be a class of a jar that a user adds later.
      if (PACKAGE.matcher(name).matches()) packages.add(name);
      throw error;
    }
  }

  @Override
  public ClassLoader getClassLoader() {
    return all.getClassLoader();
  }
}
