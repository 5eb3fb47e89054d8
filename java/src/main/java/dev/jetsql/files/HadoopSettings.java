package dev.jetsql.files;

import dev.jetsql.common.Reflection;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;

/** Makes the settings of Hadoop cheaper to send to tasks. */
public final class HadoopSettings {
  private HadoopSettings() {}

  /**
   * Forgets which file or call each setting comes from; Hadoop keeps these sources for messages.
   * Spark sends the settings, about a thousand, to the tasks of each batch, and Hadoop compresses
   * each source on its own. In an engine with many small batches this took a sixth of the processor
   * time of the driver. The field is private: Hadoop cannot do without the sources.
   */
  public static void forgetSources(Configuration settings) throws ReflectiveOperationException {
    // The class adds files of defaults when it is loaded, and Hadoop then reads all files again.
    var unused = new JobConf();
    settings.size(); // reads the files
    Reflection.field(Configuration.class, "updatingResource").set(settings, null);
  }
}
