package dev.jetsql.rights.gates;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.common.StatementObjects;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Right;
import java.util.List;
import org.apache.spark.sql.catalyst.ExtendedAnalysisException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The errors of the gates. An object on which a user has no right has the error of Spark for an
 * object that does not exist.
 */
final class Refusals {
  /** The right in the audit log of an object that a user has no right on. */
  private static final String ANY = "ANY";

  private Refusals() {}

  /** Returns the error for a statement that a user may not run. */
  static RuntimeException notAllowed(Origin origin, String message) {
    return Exceptions.raise(JetSqlException.at(origin, "NOT_ALLOWED", "42501", message));
  }

  /** Returns the error for a missing right on an object that the user can see. */
  static RuntimeException missing(Origin origin, String user, Right right, List<String> name) {
    StatementObjects.refuse(right.name(), name);
    var object = String.join(".", name);
    return notAllowed(
        origin,
        "User '%s' has no right %s on %s. An ADMIN can GRANT it.".formatted(user, right, object));
  }

  /** Returns the error for a part of a statement that only an ADMIN may use. */
  static RuntimeException onlyAdmin(Origin origin, String what, String reason) {
    return notAllowed(origin, "Only an ADMIN may use %s: %s.".formatted(what, reason));
  }

  /** Returns the error for what the body of a function names, which its caller may not learn. */
  static RuntimeException hiddenInBody(Origin origin) {
    return notAllowed(origin, "A function that is called uses what you have no right on.");
  }

  /** Returns the error of a session without a user, when the home has users. */
  static RuntimeException noUser() {
    return Exceptions.raise(
        JetSqlException.of(
            "NOT_ALLOWED", "42501", "The session has no user. Connect with a token."));
  }

  /**
   * Returns Spark's own error for a table or view that it does not find, without the plan: that of
   * a function's body names columns.
   *
   * @param unresolved the node that names it
   */
  static RuntimeException notFound(SparkSession session, LogicalPlan unresolved) {
    if (unresolved instanceof UnresolvedRelation relation)
      StatementObjects.refuse(ANY, Plans.list(relation.multipartIdentifier()));
    try {
      session.sessionState().analyzer().checkAnalysis(unresolved);
    } catch (Exception e) { // Scala's methods declare no checked exception
      throw Exceptions.raise(withoutPlan(e));
    }
    throw new IllegalStateException(unresolved.getClass() + " is found"); // fails closed
  }

  /** Returns an error without the plan that Spark appends to its message. */
  static Throwable withoutPlan(Throwable error) {
    return error instanceof ExtendedAnalysisException extended
        ? new ExtendedAnalysisException(extended, null)
        : error;
  }

  /** Returns Spark's own error for a table or view that it does not find. */
  static RuntimeException notFound(SparkSession session, Origin origin, List<String> name) {
    var relation =
        CurrentOrigin.withOrigin(
            origin,
            () ->
                new UnresolvedRelation(
                    Sequences.of(name), CaseInsensitiveStringMap.empty(), false));
    return notFound(session, relation);
  }

  /** Returns Spark's own error for a schema that it does not find. */
  static RuntimeException schemaNotFound(List<String> schema) {
    StatementObjects.refuse(ANY, schema);
    return Exceptions.raise(new NoSuchNamespaceException(schema.toArray(String[]::new)));
  }

  /** Returns Spark's own error for a function that it does not find. */
  static RuntimeException functionNotFound(Origin origin, List<String> name, List<String> path) {
    StatementObjects.refuse(Right.USAGE.name(), name);
    return Exceptions.raise(
        QueryCompilationErrors$.MODULE$.unresolvedRoutineError(
            Sequences.of(name), Sequences.of(path), origin));
  }
}
