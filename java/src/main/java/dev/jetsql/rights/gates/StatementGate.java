package dev.jetsql.rights.gates;

import dev.jetsql.catalog.TableNames;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Principals;
import dev.jetsql.common.Secrets;
import dev.jetsql.common.StatementObjects;
import dev.jetsql.connections.ConnectionOptions;
import dev.jetsql.connections.Connections;
import dev.jetsql.connections.TableLocations;
import dev.jetsql.options.FileTableOptions;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Right;
import dev.jetsql.rights.Rights;
import dev.jetsql.rights.UserSettings;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.CurrentUserContext$;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunctionName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedView;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateUserDefinedFunction;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.DropFunction;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.DropView;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The first gate: checks a statement before Spark resolves it, because resolving already acts. It
 * lists files, connects to databases, and evaluates constant expressions.
 *
 * <p>A table, view, schema or function on which the user has no right is reported as missing here,
 * without asking the catalogue. So the error is the same whether it exists or not.
 */
public final class StatementGate extends Rule<LogicalPlan> {
  private static final Set<List<String>> BUILT_IN =
      Set.of(List.of(), List.of("builtin"), List.of("system", "builtin"));

  /** Whether threads can have the user of a statement, also after all users were dropped. */
  private static volatile boolean hasSetUser;

  private final SparkSession session;

  public StatementGate(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    var rights = Rights.current();
    if (rights == null) {
      if (hasSetUser) setCurrentUser(Principals.SYSTEM);
      return plan;
    }
    var user = Principals.of(session);
    if (user != null) setCurrentUser(shownUser(user));
    // The body of a view has the rights of its owner, which the second gate knows.
    var isBody = AnalysisContext.get().nestedViewDepth() > 0;
    if (user != null && (rights.isAdmin(user) || isBody)) return plan;
    if (ApprovedPlans.isRunning()) return plan;
    if (user == null) throw Refusals.noUser();
    if (isMissingAndOptional(plan, rights, user)) return new NoopCommand("DROP", name(plan));
    new Check(rights, user).visit(plan);
    return plan;
  }

  /**
   * Returns the user of current_user(): in the runs of a job, which are the engine's, its owner.
   */
  private String shownUser(String user) {
    return user.equals(Principals.SYSTEM)
        ? session.sessionState().conf().getConfString(JobContext.OWNER_CONF, user)
        : user;
  }

  /** Sets what current_user() returns in this thread. The engine's own sessions keep Spark's. */
  private static void setCurrentUser(String user) {
    var currentUser = CurrentUserContext$.MODULE$.CURRENT_USER();
    if (user.equals(Principals.SYSTEM)) currentUser.remove();
    else {
      hasSetUser = true;
      currentUser.set(user);
    }
  }

  /** Returns whether a statement drops, IF EXISTS, what the user cannot see. */
  private boolean isMissingAndOptional(LogicalPlan plan, Rights rights, String user) {
    var isOptional =
        plan instanceof DropTable table
            ? table.ifExists()
            : plan instanceof DropView view && view.ifExists();
    return isOptional && isHidden(name(plan), rights, user);
  }

  /** Returns whether a name, or null, is that of a table or view on which the user has no right. */
  private boolean isHidden(Seq<String> name, Rights rights, String user) {
    return name != null && !isTempView(name) && !rights.sees(user, qualified(name));
  }

  /** Returns the name in DROP TABLE or DROP VIEW, or null for IDENTIFIER(...). */
  private static Seq<String> name(LogicalPlan drop) {
    var named = drop.children().head();
    if (named instanceof UnresolvedIdentifier identifier) return identifier.nameParts();
    return named instanceof UnresolvedView view ? view.multipartIdentifier() : null;
  }

  private List<String> qualified(Seq<String> name) {
    return TableNames.qualified(session, Plans.list(name));
  }

  private boolean isTempView(Seq<String> name) {
    var isGlobal =
        name.size() > 1 && name.head().equalsIgnoreCase(session.sharedState().globalTempDB());
    return !isGlobal && session.sessionState().catalog().isTempView(name);
  }

  /** The check of one statement. */
  private final class Check extends PlanParts {
    private final Rights rights;
    private final String user;
    private int changes; // of rows, around the node that is visited

    Check(Rights rights, String user) {
      this.rights = rights;
      this.user = user;
    }

    @Override
    boolean enter(LogicalPlan plan) {
      PlanGate.checkClass(plan);
      if (FormatStatements.changesFirst(plan)) changes++;
      if (plan instanceof InsertIntoStatement insert)
        target(insert.table(), insert.overwrite() ? Right.MODIFY : Right.INSERT);
      else if (plan instanceof MergeIntoTable merge) target(merge.targetTable(), Right.MODIFY);
      else if (plan instanceof UpdateTable update) target(update.table(), Right.MODIFY);
      else if (plan instanceof DeleteFromTable delete) target(delete.table(), Right.MODIFY);
      else if (FormatStatements.isRestore(plan))
        target(FormatStatements.restored(plan), Right.MODIFY);
      else if (FormatStatements.isOptimize(plan)) predicates(FormatStatements.predicates(plan));
      else if (plan instanceof Call call) {
        predicates(Procedures.check(session, rights, user, call));
        return true;
      } else if (plan instanceof UnresolvedRelation relation) {
        options(relation);
        table(relation, relation.multipartIdentifier());
      } else if (plan instanceof UnresolvedTable named) {
        table(named, named.multipartIdentifier());
      } else if (plan instanceof UnresolvedTableOrView named) {
        table(named, named.multipartIdentifier());
      } else if (plan instanceof UnresolvedView named) {
        table(named, named.multipartIdentifier());
      } else if (plan instanceof UnresolvedFunctionName named) {
        described(named);
      } else if (plan instanceof UnresolvedNamespace named) {
        schema(Plans.list(named.multipartIdentifier()));
      } else if (plan instanceof UnresolvedTableValuedFunction call) {
        function(call.origin(), Plans.list(call.name()));
      } else if (plan instanceof SetCommand set) {
        setting(set);
      } else if (plan instanceof DropTable || plan instanceof DropView) {
        dropped(plan);
      } else if (plan instanceof DropFunction drop) {
        droppedFunction(drop);
      } else if (plan instanceof CreateTable
          || plan instanceof CreateTableAsSelect
          || plan instanceof CreateView) {
        created(plan);
      } else if (plan instanceof CreateUserDefinedFunction create) {
        createdFunction(create);
      }
      // Their queries are analyzed, and checked, when the statement runs.
      return !(plan instanceof ExplainCommand || plan instanceof DescribeQueryCommand);
    }

    @Override
    void leave(LogicalPlan plan) {
      if (FormatStatements.changesFirst(plan)) changes--;
    }

    @Override
    boolean enter(Expression expression) {
      PlanGate.checkClass(expression);
      if (expression instanceof UnresolvedAttribute column
          && changes > 0
          && column.nameParts().last().equalsIgnoreCase("_file"))
        throw Refusals.onlyAdmin(
            column.origin(), "the column _file", "it shows the names of files");
      if (expression instanceof UnresolvedFunction call)
        function(call.origin(), Plans.list(call.nameParts()));
      else if (expression instanceof UnresolvedGenerator call)
        function(call.origin(), Plans.list(call.name().nameParts()));
      else if (expression instanceof ExpressionWithUnresolvedIdentifier named) identifier(named);
      else if (expression instanceof UnresolvedTableSpec spec) spec(spec);
      else if (expression instanceof ColumnDefinition column
          && column.generationExpression().isDefined())
        throw Refusals.onlyAdmin(
            column.origin(), "GENERATED ALWAYS AS", "each writer would evaluate the expression");
      return true;
    }

    private void table(LogicalPlan node, Seq<String> name) {
      if (FunctionBodies.names(node) || isTempView(name)) return; // the second gate knows them
      var parts = qualified(name);
      if (!sees(parts) || isInMissingSchema(parts)) throw Refusals.notFound(session, node);
      if (JobContext.isAnalyzing() && rights.isRelation(user, parts))
        throw Refusals.onlyAdmin(
            node.origin(), "the relations of the schema jetsql in a job", "they show all jobs");
    }

    /** Returns whether the user sees a table, or the table of Iceberg whose metadata a name is. */
    private boolean sees(List<String> parts) {
      if (rights.sees(user, parts)) return true;
      var table = parts.subList(0, parts.size() - 1);
      return FormatStatements.isMetadata(session, parts) && rights.sees(user, table);
    }

    /** Checks conditions that a table format reads from a text, without a gate. */
    private void predicates(List<String> conditions) {
      try {
        for (var condition : conditions)
          visit(session.sessionState().sqlParser().parseExpression(condition));
      } catch (ParseException e) {
        throw Exceptions.raise(e);
      }
    }

    /** Checks the right to write to a table. Resolving can already add columns to it. */
    private void target(LogicalPlan target, Right right) {
      var node = target;
      while (node instanceof SubqueryAlias alias) node = alias.child();
      if (!(node instanceof UnresolvedRelation relation)) return; // the second gate knows it
      table(relation, relation.multipartIdentifier());
      var name = qualified(relation.multipartIdentifier());
      if (!isTempView(relation.multipartIdentifier()) && !rights.allows(user, right, name))
        throw Refusals.missing(relation.origin(), user, right, name);
    }

    /**
     * Returns whether a name begins with something that is no schema. Spark would read the files at
     * the path in the rest of the name.
     */
    private boolean isInMissingSchema(List<String> parts) {
      return parts.get(0).equals(Tables.CATALOG)
          && (parts.size() != 3 || !session.sessionState().catalog().databaseExists(parts.get(1)));
    }

    private void options(UnresolvedRelation relation) {
      for (var option : relation.options().entrySet()) {
        if (!isOwnOption(option.getKey(), option.getValue()))
          throw Refusals.onlyAdmin(
              relation.origin(), "WITH options of a table", "an option can name a file");
      }
    }

    /** Returns whether an option is one that Spark, or a rule for streams, gives a relation. */
    private static boolean isOwnOption(String name, String value) {
      return name.equalsIgnoreCase(UnresolvedRelation.REQUIRED_WRITE_PRIVILEGES())
          || (name.equalsIgnoreCase("maxFileAge") && value.equals(JobContext.ANY_AGE));
    }

    private void schema(List<String> name) {
      if (name.isEmpty()) return; // a list of all schemas, which shows those with a right
      var qualified = TableNames.qualifiedSchema(session, name);
      if (qualified.size() > 1 && !rights.seesSchema(user, qualified))
        throw Refusals.schemaNotFound(name);
    }

    private void dropped(LogicalPlan drop) {
      var name = name(drop);
      if (isHidden(name, rights, user))
        throw Refusals.notFound(session, drop.origin(), Plans.list(name));
    }

    private void droppedFunction(DropFunction drop) {
      if (!(drop.child() instanceof UnresolvedIdentifier named))
        throw Refusals.onlyAdmin(
            drop.origin(), "IDENTIFIER of a function that is dropped", "write its name");
      var parts = Plans.list(named.nameParts());
      var name = TableNames.qualified(session, parts);
      if (rights.ownsFunction(user, name)) return;
      if (!rights.allowsFunction(user, name)) throw functionNotFound(drop.origin(), parts);
      throw Refusals.missing(drop.origin(), user, Right.OWNER, name);
    }

    private void created(LogicalPlan create) {
      if (!(create.children().head() instanceof UnresolvedIdentifier named)) return;
      var name = qualified(named.nameParts());
      if (!name.get(0).equals(Tables.CATALOG))
        throw Refusals.onlyAdmin(
            named.origin(), "CREATE in another catalogue", "the engine notes no owner there");
      var schema = name.subList(0, name.size() - 1);
      if (!rights.seesSchema(user, schema))
        throw Refusals.schemaNotFound(schema.subList(1, schema.size()));
      if (!rights.allowsCreate(user, schema))
        throw Refusals.missing(named.origin(), user, Right.CREATE, schema);
    }

    private void createdFunction(CreateUserDefinedFunction create) {
      if (!(create.child() instanceof UnresolvedIdentifier named))
        throw Refusals.onlyAdmin(
            create.origin(), "IDENTIFIER of a function that is created", "write its name");
      created(create);
      FunctionText.check(session, create);
      var name = qualified(named.nameParts());
      if (!create.replace() || rights.ownsFunction(user, name)) return;
      var function = new FunctionIdentifier(name.get(2), Option.apply(name.get(1)), Option.empty());
      if (!session.sessionState().catalog().functionExists(function)) return;
      throw rights.allowsFunction(user, name)
          ? Refusals.missing(create.origin(), user, Right.OWNER, name)
          : Exceptions.raise(QueryCompilationErrors$.MODULE$.functionAlreadyExistsError(function));
    }

    /**
     * Checks a function that a statement describes: the body of one that is not Spark's can be
     * hidden.
     */
    private void described(UnresolvedFunctionName named) {
      var parts = Plans.list(named.multipartIdentifier());
      function(named.origin(), parts);
      if (!isBuiltIn(parts))
        throw Refusals.onlyAdmin(named.origin(), "DESCRIBE of this function", "it shows its body");
    }

    private static boolean isBuiltIn(List<String> parts) {
      var lower = parts.stream().map(each -> each.toLowerCase(Locale.ROOT)).toList();
      return BUILT_IN.contains(lower.subList(0, lower.size() - 1))
          && (lower.size() > 1 || AllowList.FUNCTIONS.has(lower.get(lower.size() - 1)));
    }

    private void function(Origin origin, List<String> parts) {
      if (isBuiltIn(parts)) {
        var name = parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
        var refusal = AllowList.FUNCTIONS.refusal(name);
        if (refusal != null) throw Refusals.onlyAdmin(origin, "the function " + name, refusal);
        return;
      }
      if (rights.allowsFunction(user, TableNames.qualified(session, parts))) return;
      if (FunctionBodies.isAnalyzing()) throw Refusals.hiddenInBody(origin);
      throw functionNotFound(origin, parts);
    }

    private RuntimeException functionNotFound(Origin origin, List<String> parts) {
      var path = TableNames.qualified(session, List.of(parts.get(parts.size() - 1)));
      return Refusals.functionNotFound(
          origin, parts, List.of(String.join(".", path.subList(0, path.size() - 1))));
    }

    /** Checks what IDENTIFIER(...) becomes, which Spark resolves after this gate. */
    private void identifier(ExpressionWithUnresolvedIdentifier named) {
      if (!(named.identifierExpr() instanceof Literal literal
          && literal.value() instanceof UTF8String text))
        throw Refusals.onlyAdmin(
            named.origin(), "IDENTIFIER of an expression for a column or function", "write a text");
      try {
        var parts = session.sessionState().sqlParser().parseMultipartIdentifier(text.toString());
        visit(named.exprBuilder().apply(parts, named.otherExprs()));
      } catch (ParseException e) {
        throw Exceptions.raise(e);
      }
    }

    private void setting(SetCommand set) {
      if (set.kv().isEmpty())
        throw Refusals.onlyAdmin(set.origin(), "SET without a name", "it lists all settings");
      var name = set.kv().get()._1();
      var refusal = UserSettings.refusal(name);
      if (refusal != null) throw Refusals.notAllowed(set.origin(), refusal);
    }

    private boolean hasConnection(UnresolvedTableSpec spec) {
      return ConnectionOptions.hasConnection(spec.provider().get().toLowerCase(Locale.ROOT))
          && CollectionConverters.asJava(spec.optionExpression().options()).stream()
              .anyMatch(option -> Connections.isName(option._1()));
    }

    /**
     * Checks the options of a table with a connection. A connection without a right is reported as
     * missing, before anything else is.
     */
    private void connection(UnresolvedTableSpec spec) {
      var options = CollectionConverters.asJava(spec.optionExpression().options());
      for (var option : options) {
        if (!Connections.isName(option._1())) continue;
        var value = option._2() instanceof Literal literal ? String.valueOf(literal.value()) : "";
        if (!rights.allowsConnection(user, value)) throw Connections.missing(value);
      }
      var format = spec.provider().get().toLowerCase(Locale.ROOT);
      for (var option : options) {
        var isText =
            option._2() instanceof Literal literal
                && !Secrets.isReference(String.valueOf(literal.value()));
        if (!isText || !ConnectionOptions.isForUsers(format, option._1()))
          throw Refusals.onlyAdmin(
              spec.origin(),
              "the option '" + option._1() + "' of a table with a connection",
              "it can name a file, a secret or another host");
      }
    }

    private void location(Origin origin, String url) {
      var problem = Location.problem(url);
      if (problem != null)
        throw Refusals.notAllowed(
            origin, "The location '%s' cannot be read for certain: %s.".formatted(url, problem));
      var location = TableLocations.of(session, Location.uri(url));
      var refusal = TableLocations.refusal(session, rights, user, location);
      if (refusal == null) return;
      StatementObjects.refuse(Right.USAGE.name(), List.of(location.toString()));
      throw Refusals.notAllowed(origin, refusal);
    }

    private void fileOptions(UnresolvedTableSpec spec) {
      for (var option : CollectionConverters.asJava(spec.optionExpression().options())) {
        var isForUsers =
            option._2() instanceof Literal literal
                && FileTableOptions.isForUsers(option._1(), String.valueOf(literal.value()));
        if (!isForUsers)
          throw Refusals.onlyAdmin(
              spec.origin(), "the option '" + option._1() + "'", "it can name a file or a class");
      }
    }

    private void spec(UnresolvedTableSpec spec) {
      var origin = spec.origin();
      var provider = spec.provider();
      var isConnected = provider.isDefined() && hasConnection(spec);
      if (isConnected) connection(spec);
      else if (provider.isDefined()
          && !TableLocations.FORMATS.contains(provider.get().toLowerCase(Locale.ROOT)))
        throw Refusals.onlyAdmin(
            origin, "tables USING " + provider.get(), "it is no format of files");
      if (spec.external())
        throw Refusals.onlyAdmin(origin, "EXTERNAL tables of Hive", "they load classes");
      if (spec.location().isDefined()) {
        // The default of a session can be Delta, whose log names files anywhere.
        if (provider.isEmpty())
          throw Refusals.onlyAdmin(origin, "LOCATION without USING", "the format is not known");
        location(origin, spec.location().get());
      }
      if (spec.serde().isDefined())
        throw Refusals.onlyAdmin(origin, "Hive's formats", "they load classes");
      if (!isConnected) fileOptions(spec);
      if (spec.properties().nonEmpty())
        throw Refusals.onlyAdmin(origin, "TBLPROPERTIES", "they belong to the engine");
    }
  }
}
