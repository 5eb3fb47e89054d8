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
    HadoopSettings.reduce(settings, true);
    assertTrue(settings.size() >= number);
    assertEquals("1", settings.get("fs.example"));
    assertNull(settings.getPropertySources("fs.example"));
  }

  @Test
  void onlyYarnNeedsItsDefaults() throws Exception {
    var onYarn = new Configuration();
    HadoopSettings.reduce(onYarn, true);
    assertEquals("8040", port(onYarn));
    var elsewhere = new Configuration();
    elsewhere.set("yarn.resourcemanager.principal", "rm/_HOST@EXAMPLE");
    HadoopSettings.reduce(elsewhere, false);
    assertNull(port(elsewhere));
    assertEquals("rm/_HOST@EXAMPLE", elsewhere.get("yarn.resourcemanager.principal"));
    assertEquals(onYarn.get("fs.defaultFS"), elsewhere.get("fs.defaultFS"));
    assertEquals(
        onYarn.get("mapreduce.input.fileinputformat.split.minsize"),
        elsewhere.get("mapreduce.input.fileinputformat.split.minsize"));
    assertTrue(written(elsewhere).length < written(onYarn).length * 3 / 4);
  }

  private static String port(Configuration settings) {
    String address = settings.getRaw("yarn.nodemanager.localizer.address");
    return address == null ? null : address.substring(address.indexOf(':') + 1);
  }

  @Test
  void tasksReadTheSettings() throws Exception {
    var settings = new Configuration();
    int before = written(settings).length;
    HadoopSettings.reduce(settings, false);
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
