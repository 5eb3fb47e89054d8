package dev.jetsql.connections;

import dev.jetsql.common.Json;
import dev.jetsql.rights.ConfinedFolders;
import dev.jetsql.rights.EnginePlaces;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Rights;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;

/**
 * The right on the location of a table: its owner has USAGE on it, or on the connection of its
 * bucket. Who reads or writes the table needs a right on the table only.
 */
public final class TableLocations {
  /**
   * The formats of tables that users without ADMIN have at a location: a folder has all their
   * files. The logs of Delta and Iceberg can name a file anywhere.
   */
  public static final Set<String> FORMATS = Set.of("parquet", "json", "csv", "orc");

  private static final String LOCAL_FILES = "dev.jetsql.files.LocalFiles";

  private TableLocations() {}

  /** Returns the location of a URI, which Spark completes with the default file system. */
  public static Location of(SparkSession session, URI uri) {
    var location = Location.of(uri);
    if (!location.scheme().isEmpty()) return location;
    var files = FileSystem.getDefaultUri(session.sparkContext().hadoopConfiguration());
    var root = Location.of(files);
    return new Location(root.scheme(), root.authority(), location.folders());
  }

  /** Returns why a user may not have a table at a location, or null. */
  public static String refusal(
      SparkSession session, Rights rights, String user, Location location) {
    if (rights.isAdmin(user)) return null;
    if (!rights.allowsLocation(user, location) && !Connections.has(rights, user, location))
      return "User '%s' has no right USAGE on the location %s. An ADMIN can GRANT it."
          .formatted(user, location);
    if (EnginePlaces.touches(location))
      return "The location %s has files of the engine, which are for an ADMIN.".formatted(location);
    if (!location.isLocal()) return null;
    var files = session.sparkContext().hadoopConfiguration().get("fs.file.impl", "");
    if (!files.equals(LOCAL_FILES))
      return "The location %s is on the disk of the engine, whose file system (%s) does not check"
              .formatted(location, files)
          + " symbolic links. Users need a location in a store.";
    if (!session.sparkContext().isLocal())
      return "The location %s is on the disk of the engine, and executors on other machines do not"
              .formatted(location)
          + " check symbolic links. Users need a location in a store.";
    return ConfinedFolders.problem(Path.of(location.path()));
  }

  /** Returns why the owner of a table may not have it, or null. */
  public static String refusal(SparkSession session, CatalogTable table) {
    var rights = Rights.current();
    var schema = table.identifier().database();
    if (rights == null || schema.isEmpty() || !isElsewhere(table)) return null;
    var name = List.of("spark_catalog", schema.get(), table.identifier().table());
    var owner = rights.viewOwner(name);
    if (rights.isAdmin(owner)) return null;
    var shown = String.join(".", name);
    if (!FORMATS.contains(format(table)))
      return "The table %s has a location and the format %s, whose files can name others. Its"
              .formatted(shown, format(table))
          + " owner must be an ADMIN.";
    var uri = table.storage().locationUri().get();
    if (refusal(session, rights, owner, of(session, uri)) == null) return null;
    return "The owner of %s, %s, has no right USAGE on the location of the table. An ADMIN can GRANT"
            .formatted(shown, owner)
        + " it.";
  }

  /**
   * Returns why a job may not write into a folder next to the location of its table, or null;
   * called from Python.
   *
   * @param name the parts of the table's qualified name, a JSON array
   * @param newOwner of a table that does not exist yet; null otherwise
   */
  public static String folderRefusal(
      SparkSession session, String name, String newOwner, String folder) {
    var rights = Rights.current();
    if (rights == null) return null;
    var owner = newOwner == null ? rights.viewOwner(Json.readTexts(name)) : newOwner;
    return refusal(session, rights, owner, of(session, Location.uri(folder)));
  }

  /** Returns whether a table has files that are not in the warehouse. */
  private static boolean isElsewhere(CatalogTable table) {
    return table.tableType().name().equals("EXTERNAL")
        && table.storage().locationUri().isDefined()
        && !ConnectionOptions.hasConnection(format(table));
  }

  private static String format(CatalogTable table) {
    return table.provider().isDefined() ? table.provider().get().toLowerCase(Locale.ROOT) : "";
  }
}
