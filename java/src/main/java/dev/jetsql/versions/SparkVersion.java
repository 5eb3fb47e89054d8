package dev.jetsql.versions;

import java.util.Arrays;
import org.apache.spark.package$;

/** The version of the running Spark. JetSQL's one jar runs with several. */
public final class SparkVersion {
  private static final int[] CURRENT = parse(package$.MODULE$.SPARK_VERSION());

  private SparkVersion() {}

  /** Returns whether the running Spark is of this version or newer. */
  public static boolean isAtLeast(int major, int minor) {
    return Arrays.compare(CURRENT, new int[] {major, minor}) >= 0;
  }

  /** Returns major and minor version, such as `4.1`. */
  public static String name() {
    return CURRENT[0] + "." + CURRENT[1];
  }

  private static int[] parse(String version) {
    String[] parts = version.split("\\.", 3);
    return new int[] {Integer.parseInt(parts[0]), Integer.parseInt(parts[1])};
  }
}
