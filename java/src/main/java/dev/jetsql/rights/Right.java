package dev.jetsql.rights;

import java.util.EnumSet;
import java.util.Set;

/** What a user may do with an object. */
public enum Right {
  SELECT,
  INSERT,
  MODIFY,
  CREATE,
  OPERATE,
  USAGE,
  MONITOR,
  FUNCTION,
  ADMIN,
  OWNER;

  /** The rights that let a user see that a table or view exists. */
  public static final Set<Right> OF_TABLES = EnumSet.of(SELECT, INSERT, MODIFY, OWNER);

  /** The rights that let a user see that a schema exists. */
  public static final Set<Right> OF_SCHEMAS = EnumSet.of(SELECT, INSERT, MODIFY, CREATE, OWNER);
}
