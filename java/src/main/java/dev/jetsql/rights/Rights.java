package dev.jetsql.rights;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import dev.jetsql.common.Principals;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The effective rights of all users, as the engine (Python) has published them: an immutable value,
 * which a statement reads once. The engine resolves roles; no gate asks it while Spark analyzes.
 *
 * <p>A home without users has none: every session may do everything, and the gates do nothing.
 */
public final class Rights {
  private static final List<String> FIRST_SCHEMA = List.of("spark_catalog", "default");

  private static volatile Rights current;
  private static volatile Set<List<String>> relations = Set.of();

  private final Map<String, UserRights> users = new HashMap<>();
  private final Map<List<String>, String> viewOwners = new HashMap<>(); // by qualified name
  private final Set<String> settings = new LinkedHashSet<>(); // in lower case
  private final Set<Location> locations = new LinkedHashSet<>(); // of all users

  /** The limits of the statements of a user; 0 for none. */
  public record Limits(long statements, long rows, double seconds) {
    static final Limits NONE = new Limits(0, 0, 0);

    static Limits of(JsonNode published) {
      return new Limits(
          published.path("statements_most").asLong(),
          published.path("rows_most").asLong(),
          published.path("statement_seconds").asDouble());
    }
  }

  private Rights(JsonNode published) {
    published
        .path("users")
        .properties()
        .forEach(user -> users.put(user.getKey(), new UserRights(user.getValue())));
    users.values().forEach(user -> locations.addAll(user.locations));
    for (var view : published.path("views"))
      viewOwners.put(lower(Json.texts(view.get("name"))), view.get("owner").asText());
    published
        .path("settings")
        .forEach(name -> settings.add(name.asText().toLowerCase(Locale.ROOT)));
  }

  /**
   * Replaces the rights. Statements that are being analyzed keep those that they have read.
   *
   * @param json null for a home without users; otherwise {"users": {name: {"admin": boolean,
   *     "rights": [{"right", "kind", "name": [parts]}], "limits": {"statements_most", "rows_most",
   *     "statement_seconds"}}}, "views": [{"name": [parts], "owner"}], "settings": [names that
   *     every user may set]}. A user who is not in it may do nothing. A view that is not in it
   *     belongs to the built-in user.
   */
  public static void publish(String json) {
    var rights = json == null ? null : new Rights(Json.read(json));
    ConfinedFolders.publish(rights == null ? Set.of() : rights.locations);
    current = rights;
  }

  /**
   * Sets the relations of the engine, which every user may read: the engine leaves out the rows
   * about objects on which the user has no right.
   *
   * @param names their qualified names, in lower case
   */
  public static void showRelations(Set<List<String>> names) {
    relations = names;
  }

  /** Returns the rights that apply now, or null for a home without users. */
  public static Rights current() {
    return current;
  }

  /** Returns whether a user exists and is not disabled. */
  public boolean isUser(String user) {
    return Principals.isBuiltIn(user) || users.containsKey(user);
  }

  /** Returns the limits of a user. */
  public Limits limits(String user) {
    var own = users.get(user);
    return own == null ? Limits.NONE : own.limits;
  }

  /** Returns whether a user may do everything. */
  public boolean isAdmin(String user) {
    if (Principals.isBuiltIn(user)) return true;
    var own = users.get(user);
    return own != null && own.isAdmin;
  }

  /**
   * Returns whether a user has a right on a table or view, also by a right on its schema, its
   * catalogue or all schemas. The owner has all rights.
   *
   * @param name the parts of the qualified name, in any case
   */
  public boolean allows(String user, Right right, List<String> name) {
    if (right == Right.SELECT && isRelation(user, name)) return true;
    return allows(user, EnumSet.of(right, Right.OWNER), Kind.TABLE, name);
  }

  /** Returns whether a user may create tables and views in a schema. schema: with its catalogue */
  public boolean allowsCreate(String user, List<String> schema) {
    return allows(user, EnumSet.of(Right.CREATE, Right.OWNER), Kind.SCHEMA, schema);
  }

  /** Returns whether a user has any right on a table or view. Otherwise it does not exist. */
  public boolean sees(String user, List<String> name) {
    return isRelation(user, name) || allows(user, Right.OF_TABLES, Kind.TABLE, name);
  }

  /**
   * Returns whether a user has any right on a schema, or on an object in it. The first schema of
   * all sessions is no secret: BI tools name it when they connect.
   */
  public boolean seesSchema(String user, List<String> schema) {
    if (allows(user, Right.OF_SCHEMAS, Kind.SCHEMA, schema)) return true;
    var own = users.get(user);
    if (own == null) return false;
    var name = lower(schema);
    return name.equals(FIRST_SCHEMA)
        || own.hasAnyBelow(name)
        || relations.stream().anyMatch(each -> isBelow(each, name));
  }

  /** Returns whether a user may call a function that is not one of Spark's. */
  public boolean allowsFunction(String user, List<String> name) {
    return allows(user, EnumSet.of(Right.USAGE, Right.OWNER), Kind.FUNCTION, name);
  }

  /** Returns whether a user owns a function that is not one of Spark's. */
  public boolean ownsFunction(String user, List<String> name) {
    return allows(user, EnumSet.of(Right.OWNER), Kind.FUNCTION, name);
  }

  /** Returns whether a user may name a connection in a table. name: in any case */
  public boolean allowsConnection(String user, String name) {
    if (isAdmin(user)) return true;
    var own = users.get(user);
    return own != null
        && own.has(EnumSet.of(Right.USAGE, Right.OWNER), Kind.CONNECTION, List.of(lower(name)));
  }

  /** Returns whether a user may have tables at a location. */
  public boolean allowsLocation(String user, Location location) {
    if (isAdmin(user)) return true;
    var own = users.get(user);
    return own != null && own.locations.stream().anyMatch(granted -> granted.covers(location));
  }

  /** Returns as whom the body of a persistent view is checked, and the owner of a table. */
  public String viewOwner(List<String> name) {
    return viewOwners.getOrDefault(lower(name), Principals.OWNER);
  }

  /** Returns whether every user may set a setting of Spark. */
  public boolean isSetting(String name) {
    return settings.contains(name.toLowerCase(Locale.ROOT));
  }

  /** Returns the names of the settings that every user may set. */
  public Set<String> settings() {
    return Collections.unmodifiableSet(settings);
  }

  /** Returns whether rights apply to a user; called from Python. */
  public static boolean restrict(String user) {
    var rights = current();
    return rights != null && !rights.isAdmin(user);
  }

  /**
   * Returns whether a user has a right on a table, or CREATE on its schema; called from Python.
   *
   * @param user null for a session without a user
   * @param name the parts of the table's qualified name, a JSON array
   */
  public static boolean allow(String user, String right, String name) {
    var rights = current();
    if (rights == null) return true;
    if (user == null) return false;
    var parts = Json.readTexts(name);
    return right.equals(Right.CREATE.name())
        ? rights.allowsCreate(user, parts.subList(0, parts.size() - 1))
        : rights.allows(user, Right.valueOf(right), parts);
  }

  private boolean allows(String user, Set<Right> wanted, Kind kind, List<String> name) {
    if (isAdmin(user)) return true;
    var own = users.get(user);
    return own != null && !isPath(name) && own.hasAny(wanted, kind, lower(name));
  }

  /**
   * Returns whether a name is, or contains, a path: formats read files by such names. In a
   * catalogue of folders, `../b/t` in a schema is the table of another one.
   */
  private static boolean isPath(List<String> name) {
    return name.stream()
        .anyMatch(
            part ->
                part.contains("/") || part.contains("\\") || part.equals(".") || part.equals(".."));
  }

  /** Returns whether a name is that of a relation of the engine, which the user may read. */
  public boolean isRelation(String user, List<String> name) {
    return users.containsKey(user) && relations.contains(lower(name));
  }

  private static boolean isBelow(List<String> name, List<String> schema) {
    return name.size() > schema.size() && name.subList(0, schema.size()).equals(schema);
  }

  private static List<String> lower(List<String> name) {
    return name.stream().map(Rights::lower).toList();
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }

  /** The kinds of objects that the gates know. */
  private enum Kind {
    ENGINE,
    CATALOG,
    SCHEMA,
    TABLE,
    FUNCTION,
    CONNECTION
  }

  private record Securable(Kind kind, List<String> name) {}

  /** The rights of one user. */
  private static final class UserRights {
    private final boolean isAdmin;
    private final Limits limits;
    private final Map<Securable, Set<Right>> rights = new HashMap<>();
    private final Set<Location> locations = new LinkedHashSet<>();

    UserRights(JsonNode user) {
      var isAdminHere = user.path("admin").asBoolean();
      for (var each : user.path("rights")) {
        var right = Right.valueOf(each.get("right").asText());
        if (each.get("kind").asText().equals("LOCATION"))
          locations.add(Location.of(Json.texts(each.get("name")).get(0)));
        var kind = kind(each.get("kind").asText());
        if (kind == null) continue; // jobs, secrets: checked in Python
        if (kind == Kind.ENGINE && right == Right.ADMIN) isAdminHere = true;
        var name = lower(Json.texts(each.get("name")));
        rights
            .computeIfAbsent(new Securable(kind, name), key -> EnumSet.noneOf(Right.class))
            .add(right);
      }
      isAdmin = isAdminHere;
      limits = Limits.of(user.path("limits"));
    }

    private static Kind kind(String name) {
      return Stream.of(Kind.values())
          .filter(kind -> kind.name().equals(name))
          .findFirst()
          .orElse(null);
    }

    /** Returns whether the user has one of the rights on an object, or on what contains it. */
    boolean hasAny(Set<Right> wanted, Kind kind, List<String> name) {
      if (has(wanted, kind, name) || has(wanted, Kind.ENGINE, List.of())) return true;
      if (has(wanted, Kind.CATALOG, name.subList(0, 1))) return true;
      var schemaLength = kind == Kind.SCHEMA ? name.size() : name.size() - 1;
      for (var length = 2; length <= schemaLength; length++)
        if (has(wanted, Kind.SCHEMA, name.subList(0, length))) return true;
      return false;
    }

    private boolean has(Set<Right> wanted, Kind kind, List<String> name) {
      var held = rights.get(new Securable(kind, name));
      return held != null && held.stream().anyMatch(wanted::contains);
    }

    boolean hasAnyBelow(List<String> schema) {
      return rights.keySet().stream().map(Securable::name).anyMatch(name -> isBelow(name, schema));
    }
  }
}
