package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import py4j.reflection.ClassLoadingStrategy;

class ClassLookupsTest {
  private final List<String> searched = new ArrayList<>();
  private final ClassLookups lookups = new ClassLookups(new Jars());

  @Test
  void aPackageIsSearchedOnce() {
    for (int i = 0; i < 2; i++) {
      assertThrows(ClassNotFoundException.class, () -> lookups.classForName("org.example"));
    }
    assertEquals(List.of("org.example"), searched);
  }

  @Test
  void aMissingClassIsSearchedAgainSinceAJarMayHaveBeenAdded() {
    for (int i = 0; i < 2; i++) {
      assertThrows(ClassNotFoundException.class, () -> lookups.classForName("org.example.Added"));
    }
    assertEquals(List.of("org.example.Added", "org.example.Added"), searched);
  }

  @Test
  void javasOwnClassesAreSearchedInJavaAlone() throws ClassNotFoundException {
    assertSame(String.class, lookups.classForName("java.lang.String"));
    assertThrows(ClassNotFoundException.class, () -> lookups.classForName("java.lang.SparkConf"));
    assertEquals(List.of(), searched);
  }

  @Test
  void otherClassesAreFound() throws ClassNotFoundException {
    assertSame(getClass(), lookups.classForName(getClass().getName()));
  }

  private final class Jars implements ClassLoadingStrategy {
    @Override
    public Class<?> classForName(String name) throws ClassNotFoundException {
      searched.add(name);
      return Class.forName(name);
    }

    @Override
    public ClassLoader getClassLoader() {
      return ClassLookupsTest.class.getClassLoader();
    }
  }
}
