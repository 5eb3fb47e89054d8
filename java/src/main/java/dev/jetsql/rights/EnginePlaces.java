package dev.jetsql.rights;

import dev.jetsql.common.Json;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv$;

/**
 * The files of the engine, which no right on a location opens: the home, the storage, the files
 * with secrets, and Spark's temporary files, which have rows of all users.
 */
public final class EnginePlaces {
  private static final List<Location> OF_SYSTEM =
      Stream.of("/proc", "/sys", "/dev").map(Location::of).map(EnginePlaces::local).toList();

  private static volatile List<Location> ofSettings = List.of();
  private static volatile List<Location> ofSecrets = List.of();
  private static volatile List<Location> known = OF_SYSTEM; // also without symbolic links

  private EnginePlaces() {}

  /**
   * Sets the files and folders of the engine; called from Python. json: an array of URLs or paths
   */
  public static void publish(String json) {
    ofSettings = Json.readTexts(json).stream().map(EnginePlaces::named).toList();
    resolve();
  }

  /** Sets the files of the secrets of CREATE SECRET. */
  public static void publishSecrets(Collection<String> files) {
    ofSecrets = files.stream().map(EnginePlaces::named).toList();
    resolve();
  }

  private static synchronized void resolve() {
    known =
        Stream.of(OF_SYSTEM, ofSettings, ofSecrets)
            .flatMap(List::stream)
            .flatMap(place -> place.isLocal() ? Stream.of(place, real(place)) : Stream.of(place))
            .toList();
  }

  private static Location named(String place) {
    return local(Location.of(place));
  }

  private static Location local(Location place) {
    return place.scheme().isEmpty() ? new Location("file", "", place.folders()) : place;
  }

  /** Returns whether a location is one of the engine's, is below one, or contains one. */
  public static boolean touches(Location location) {
    return all().anyMatch(place -> place.covers(location) || location.covers(place));
  }

  /** Returns whether the engine has files in a bucket. */
  public static boolean hasBucket(String bucket) {
    return ofSettings.stream().anyMatch(place -> place.authority().equals(bucket));
  }

  /** Returns whether a local path is one of the engine's, or below one. */
  static boolean has(Path path) {
    var location = new Location("file", "", names(path));
    return all().anyMatch(place -> place.covers(location));
  }

  /** Returns the names in an absolute path. */
  static List<String> names(Path path) {
    return Stream.iterate(0, at -> at < path.getNameCount(), at -> at + 1)
        .map(at -> path.getName(at).toString())
        .toList();
  }

  private static Stream<Location> all() {
    return Stream.concat(known.stream(), ofSpark().stream());
  }

  private static Location real(Location place) {
    var path = RealPaths.of(Path.of(place.path()));
    return path == null ? place : new Location("file", "", names(path));
  }

  private static List<Location> ofSpark() {
    var environment = SparkEnv$.MODULE$.get();
    if (environment == null) return List.of();
    var folders = environment.blockManager().diskBlockManager().localDirs();
    return Stream.of(folders).map(folder -> named(folder.getPath())).toList();
  }
}
