package dev.jetsql.rights;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.File;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;

/**
 * The local folders below which users may have tables. No statement and no job follows a symbolic
 * link out of them: a user who can write into the folder by other means could show or replace any
 * file of the engine by a link.
 */
public final class ConfinedFolders {
  private static volatile List<Location> folders = List.of();

  private ConfinedFolders() {}

  static void publish(Collection<Location> granted) {
    folders = granted.stream().filter(Location::isLocal).distinct().toList();
  }

  /** Throws NOT_ALLOWED for a file below one of the folders that a link puts elsewhere. */
  public static void check(File file) {
    if (folders.isEmpty()) return;
    var problem = problem(file.toPath());
    if (problem != null)
      throw Exceptions.raise(JetSqlException.of("NOT_ALLOWED", "42501", problem));
  }

  /** Returns the error of a file below one of the folders that a link puts elsewhere, or null. */
  public static String problem(Path path) {
    var names = new Location("file", "", EnginePlaces.names(path.toAbsolutePath().normalize()));
    Location nearest = null;
    for (var folder : folders)
      if (folder.covers(names)
          && (nearest == null || folder.folders().size() > nearest.folders().size()))
        nearest = folder;
    if (nearest == null || EnginePlaces.has(path)) return null; // the engine's own are its own
    var real = RealPaths.of(path);
    var root = RealPaths.of(Path.of(nearest.path()));
    return real == null || root == null || !real.startsWith(root) || EnginePlaces.has(real)
        ? "The symbolic link '%s' leads out of a location on which users have rights."
            .formatted(path.getFileName())
        : null;
  }
}
