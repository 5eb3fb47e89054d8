package dev.jetsql.kafka;

import java.io.Serializable;
import org.apache.spark.api.java.function.VoidFunction;

/** Closes a job's idle producers where it runs. */
public class Closing implements VoidFunction, Serializable {
  private static final long serialVersionUID = 1L;
  private final String ids;

  public Closing(String ids) { this.ids = ids; }

  public void call(Object rows) { Producers.close(ids); }
}
