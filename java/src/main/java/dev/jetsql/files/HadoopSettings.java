package dev.jetsql.files;

import dev.jetsql.common.Reflection;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;

/**
 * Makes the settings of Hadoop cheaper. Spark copies them several times in each batch, and sends
 * them to its tasks.
 */
public final class HadoopSettings {
  private static final String YARN_DEFAULTS = "yarn-default.xml";

  private HadoopSettings() {}

  /**
   * Forgets the defaults of YARN, nearly half of the settings, unless the engine runs on it. Other
   * settings of YARN stay.
   *
   * <p>Also forgets which file or call each setting comes from; Hadoop keeps these sources for
   * messages, and compresses each of them on its own. In an engine with many small batches this
   * took a sixth of the processor time of the driver. The field is private: Hadoop cannot do
   * without the sources.
   */
  public static void reduce(Configuration settings, boolean runsOnYarn)
      throws ReflectiveOperationException {
    // The class adds files of defaults when it is loaded, and Hadoop then reads all files again.
    var unused = new JobConf();
    settings.size(); // reads the files
    if (!runsOnYarn) forgetYarn(settings);
    Reflection.field(Configuration.class, "updatingResource").set(settings, null);
  }

  private static void forgetYarn(Configuration settings) {
    var names = new ArrayList<String>();
    settings.forEach(setting -> names.add(setting.getKey()));
    for (String name : names) {
      String[] sources = settings.getPropertySources(name);
      if (sources != null && sources[sources.length - 1].equals(YARN_DEFAULTS)) {
        settings.unset(name);
      }
    }
  }
}
