package dev.jetsql.watchdog;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Open files that are closed when this process may open no more, so that the watchdog still can.
 */
final class FileReserve {
  private static final int FILES = 8;
  private static final Path FILE = Path.of("/dev/null");

  private final List<InputStream> files = new ArrayList<>();

  FileReserve() {
    fill();
  }

  /** Opens the files that are missing in the reserve, as far as this process may. */
  void fill() {
    try {
      while (files.size() < FILES) files.add(Files.newInputStream(FILE));
    } catch (IOException e) {
      // the next call may open the rest
    }
  }

  /** Closes the files. */
  void release() {
    try {
      for (InputStream file : files) file.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    files.clear();
  }
}
