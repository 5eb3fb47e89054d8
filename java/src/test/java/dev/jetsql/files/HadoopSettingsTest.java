package dev.jetsql.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class HadoopSettingsTest {
  private static byte[] written(Configuration settings) throws IOException {
    var bytes = new ByteArrayOutputStream();
    settings.write(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  @Test
  void keepsTheSettingsAndForgetsTheirSources() throws Exception {
    var settings = new Configuration();
    settings.set("fs.example", "1");
    int number = new Configuration(settings).size();
    HadoopSettings.forgetSources(settings);
    assertTrue(settings.size() >= number);
    assertEquals("1", settings.get("fs.example"));
    assertNull(settings.getPropertySources("fs.example"));
  }

  @Test
  void tasksReadTheSettings() throws Exception {
    var settings = new Configuration();
    int before = written(settings).length;
    HadoopSettings.forgetSources(settings);
    var copy = new Configuration(settings);
    copy.set("fs.example", "2");
    var bytes = written(copy);
    assertTrue(bytes.length < before);
    var read = new Configuration(false);
    read.readFields(new DataInputStream(new ByteArrayInputStream(bytes)));
    assertEquals("2", read.get("fs.example"));
    assertEquals(copy.size(), read.size());
  }
}
