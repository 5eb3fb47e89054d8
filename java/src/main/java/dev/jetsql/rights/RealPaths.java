package dev.jetsql.rights;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** The paths that local paths mean after all symbolic links. */
final class RealPaths {
  private RealPaths() {}

  /**
   * Returns where a path leads, also if its last names do not exist yet; null for a symbolic link
   * to what does not exist, or in a circle.
   */
  static Path of(Path path) {
    var existing = path.toAbsolutePath();
    while (existing.getParent() != null && !Files.exists(existing, LinkOption.NOFOLLOW_LINKS))
      existing = existing.getParent();
    try {
      return existing.toRealPath().resolve(existing.relativize(path.toAbsolutePath()));
    } catch (IOException e) {
      return null;
    }
  }
}
