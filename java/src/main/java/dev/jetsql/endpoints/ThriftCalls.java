package dev.jetsql.endpoints;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Principals;
import dev.jetsql.rights.Rights;
import dev.jetsql.rights.UserSettings;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import org.apache.hive.service.auth.TSetIpAddressProcessor;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.OperationHandle;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.operation.Operation;
import org.apache.hive.service.rpc.thrift.TCLIService;
import org.apache.hive.service.rpc.thrift.TExecuteStatementReq;
import org.apache.hive.service.rpc.thrift.TExecuteStatementResp;
import org.apache.hive.service.rpc.thrift.TFetchResultsReq;
import org.apache.hive.service.rpc.thrift.TFetchResultsResp;
import org.apache.hive.service.rpc.thrift.TOpenSessionReq;
import org.apache.hive.service.rpc.thrift.TOperationHandle;
import org.apache.hive.service.rpc.thrift.TSessionHandle;
import org.apache.hive.service.rpc.thrift.TStatus;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.hive.thriftserver.server.SparkSQLOperationManager;
import org.apache.thrift.TProcessor;
import org.apache.thrift.TProcessorFactory;
import org.apache.thrift.transport.TTransport;

/**
 * The check of each call to the Thrift service when the home has users. A call that is not in the
 * list is refused. The calls of metadata, which read the catalogue without a plan, return only what
 * the user sees.
 */
final class ThriftCalls implements InvocationHandler {
  /** What a call does. */
  enum Kind {
    /** It begins work, so the client must still be able to log in. */
    BEGINS,
    /** It returns names of objects. */
    LISTS,
    /** It returns what a call that began work has found. */
    READS,
    /** It ends a session or an operation of the user, which a dropped user may do as well. */
    ENDS
  }

  static final Map<String, Kind> CALLS =
      Map.ofEntries(
          Map.entry("OpenSession", Kind.BEGINS),
          Map.entry("ExecuteStatement", Kind.BEGINS),
          Map.entry("GetInfo", Kind.BEGINS),
          Map.entry("GetTypeInfo", Kind.BEGINS),
          Map.entry("GetTableTypes", Kind.BEGINS),
          Map.entry("GetCatalogs", Kind.LISTS),
          Map.entry("GetSchemas", Kind.LISTS),
          Map.entry("GetTables", Kind.LISTS),
          Map.entry("GetColumns", Kind.LISTS),
          Map.entry("GetFunctions", Kind.LISTS),
          Map.entry("GetPrimaryKeys", Kind.LISTS),
          Map.entry("GetCrossReference", Kind.LISTS),
          Map.entry("GetOperationStatus", Kind.READS),
          Map.entry("GetResultSetMetadata", Kind.READS),
          Map.entry("FetchResults", Kind.READS),
          Map.entry("GetQueryId", Kind.READS),
          Map.entry("SetClientInfo", Kind.READS),
          Map.entry("CancelOperation", Kind.ENDS),
          Map.entry("CloseOperation", Kind.ENDS),
          Map.entry("CloseSession", Kind.ENDS));

  /** The settings of a session that drivers send by themselves. */
  private static final Set<String> OF_DRIVERS =
      Set.of(
          LimitedThriftService.DATABASE,
          "set:hiveconf:hive.server2.thrift.resultset.default.fetch.size");

  private final TCLIService.Iface service;
  private final CLIService sessions;
  private final ThriftLimits limits = new ThriftLimits();

  private ThriftCalls(TCLIService.Iface service, CLIService sessions) {
    this.service = service;
    this.sessions = sessions;
  }

  /** Returns what makes the processors of the connections to a service. */
  static TProcessorFactory processors(TCLIService.Iface service, CLIService sessions) {
    var checked =
        (TCLIService.Iface)
            Proxy.newProxyInstance(
                ThriftCalls.class.getClassLoader(),
                new Class<?>[] {TCLIService.Iface.class},
                new ThriftCalls(service, sessions));
    return new TProcessorFactory(null) {
      @Override
      public TProcessor getProcessor(TTransport transport) {
        return new TSetIpAddressProcessor<>(checked);
      }
    };
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    var client = ThriftClient.current();
    if (CALLS.get(method.getName()) == Kind.ENDS) return checked(method, arguments, client);
    try {
      client.checkLogin();
      var response = checked(method, arguments, client);
      client.checkLogin(); // it can have ended the statement of the call
      return response;
    } catch (HiveSQLException e) {
      return refusal(method, e);
    }
  }

  private Object checked(Method method, Object[] arguments, ThriftClient client) throws Throwable {
    var rights = Rights.current();
    if (rights == null) return call(method, arguments);
    var isRestricted = !rights.isAdmin(client.user());
    var kind = CALLS.get(method.getName());
    try {
      if (kind == null && isRestricted)
        throw refused("Only an ADMIN may use " + method.getName() + " of the Thrift endpoint.");
      check(kind, client, rights);
      for (var argument : arguments) check(argument, client.user(), isRestricted);
      var response =
          isRestricted
              ? limited(method, arguments, client.user(), rights)
              : call(method, arguments);
      return kind == Kind.LISTS && isRestricted
          ? visible(method, response, rights, client.user())
          : response;
    } catch (HiveSQLException e) {
      return refusal(method, e);
    }
  }

  /** Calls the service within the limits of the user. */
  private Object limited(Method method, Object[] arguments, String user, Rights rights)
      throws Throwable {
    if (arguments.length == 1 && arguments[0] instanceof TExecuteStatementReq statement) {
      limits.begin(user, rights.limits(user), statement);
      Operation begun = null;
      try {
        var response = (TExecuteStatementResp) call(method, arguments);
        if (response.isSetOperationHandle()) begun = operation(response.getOperationHandle());
        return response;
      } finally {
        limits.began(user, begun);
      }
    }
    var response = call(method, arguments);
    if (response instanceof TFetchResultsResp fetched
        && arguments[0] instanceof TFetchResultsReq request)
      limits.fetched(
          operation(request.getOperationHandle()),
          rights.limits(user).rows(),
          fetched.getResults());
    return response;
  }

  private Object call(Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(service, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Checks that the client is still a user. */
  private static void check(Kind kind, ThriftClient client, Rights rights) throws HiveSQLException {
    if (kind == Kind.ENDS) return;
    var isUser = kind == Kind.READS ? rights.isUser(client.user()) : client.isAdmitted();
    if (!isUser) throw refused("The user or the token of this connection is not valid any more.");
  }

  /** Checks the settings in a request, and that its session or operation is one of the user. */
  private void check(Object request, String user, boolean isRestricted) throws HiveSQLException {
    if (isRestricted && request instanceof TOpenSessionReq open)
      checkSettings(open.getConfiguration());
    if (isRestricted && request instanceof TExecuteStatementReq statement)
      checkSettings(statement.getConfOverlay());
    if (part(request, "getSessionHandle") instanceof TSessionHandle session)
      checkUser(new SessionHandle(session), user);
    if (part(request, "getOperationHandle") instanceof TOperationHandle operation)
      checkUser(operation(operation).getParentSession().getSessionHandle(), user);
  }

  private static void checkSettings(Map<String, String> settings) throws HiveSQLException {
    if (settings == null) return;
    for (var key : settings.keySet()) {
      var refusal = UserSettings.refusal(key.replaceFirst("^set:hiveconf:", ""));
      if (refusal != null && !OF_DRIVERS.contains(key)) throw refused(refusal);
    }
  }

  private void checkUser(SessionHandle session, String user) throws HiveSQLException {
    var spark = session(sessions, session);
    if (spark == null || !user.equals(Principals.of(spark)))
      throw new HiveSQLException("Invalid SessionHandle: " + session); // as for a missing one
  }

  /** Returns Spark's session of a session of a client, or null if it does not exist. */
  static SparkSession session(CLIService sessions, SessionHandle session) {
    return (SparkSession) operations(sessions).sessionToContexts().get(session);
  }

  private static SparkSQLOperationManager operations(CLIService sessions) {
    return (SparkSQLOperationManager) sessions.getSessionManager().getOperationManager();
  }

  private Operation operation(TOperationHandle handle) throws HiveSQLException {
    return operations(sessions).getOperation(new OperationHandle(handle));
  }

  /** Returns the response to a call of metadata, whose operation has only the visible rows. */
  private Object visible(Method method, Object response, Rights rights, String user)
      throws HiveSQLException {
    if (part(response, "getOperationHandle") instanceof TOperationHandle handle)
      VisibleMetadata.only(method.getName(), operation(handle), rights, user);
    else if (part(response, "getStatus") instanceof TStatus)
      throw new HiveSQLException( // its error can name what the user does not see
          "The metadata cannot be read. Use SHOW and DESCRIBE instead.");
    return response;
  }

  static Object part(Object message, String getter) {
    try {
      return message.getClass().getMethod(getter).invoke(message);
    } catch (NoSuchMethodException e) {
      return null;
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  private static HiveSQLException refused(String message) {
    return new HiveSQLException("[NOT_ALLOWED] " + message, "42501");
  }

  /** Returns a response with an error: each kind of response has a status. */
  private static Object refusal(Method method, HiveSQLException error)
      throws ReflectiveOperationException {
    var response = method.getReturnType().getConstructor().newInstance();
    response
        .getClass()
        .getMethod("setStatus", TStatus.class)
        .invoke(response, HiveSQLException.toTStatus(error));
    return response;
  }
}
