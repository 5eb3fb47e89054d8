package dev.jetsql.rights;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.Principals;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class RightsTest {
  private static final List<String> ORDERS = List.of("spark_catalog", "s", "orders");
  private static final List<String> PAY = List.of("spark_catalog", "hr", "pay");
  private static final List<String> S = List.of("spark_catalog", "s");
  private static final List<String> HR = List.of("spark_catalog", "hr");

  @AfterEach
  void publishNothing() {
    Rights.publish(null);
  }

  private static Rights of(String... rights) {
    var json = String.join(", ", rights).replace('\'', '"');
    Rights.publish("{\"users\": {\"ann\": {\"admin\": false, \"rights\": [" + json + "]}}}");
    return Rights.current();
  }

  @Test
  void aHomeWithoutUsersHasNoRights() {
    Rights.publish(null);
    assertNull(Rights.current());
  }

  @Test
  void aRightOnATableIsNoOtherRight() {
    var rights =
        of("{'right': 'SELECT', 'kind': 'TABLE', 'name': ['spark_catalog', 's', 'orders']}");
    assertTrue(rights.allows("ann", Right.SELECT, ORDERS));
    assertTrue(rights.allows("ann", Right.SELECT, List.of("spark_catalog", "S", "ORDERS")));
    assertFalse(rights.allows("ann", Right.INSERT, ORDERS));
    assertFalse(rights.allows("ann", Right.SELECT, PAY));
    assertFalse(rights.allows("bob", Right.SELECT, ORDERS));
    assertTrue(rights.sees("ann", ORDERS));
    assertFalse(rights.sees("ann", PAY));
    assertTrue(rights.seesSchema("ann", S));
    assertFalse(rights.seesSchema("ann", HR));
    assertFalse(rights.allowsCreate("ann", S));
  }

  @Test
  void aRightOnASchemaHoldsForWhatIsInIt() {
    var rights =
        of(
            "{'right': 'SELECT', 'kind': 'SCHEMA', 'name': ['spark_catalog', 's']}",
            "{'right': 'CREATE', 'kind': 'SCHEMA', 'name': ['spark_catalog', 's']}");
    assertTrue(rights.allows("ann", Right.SELECT, ORDERS));
    assertTrue(rights.allowsCreate("ann", S));
    assertFalse(rights.allows("ann", Right.SELECT, PAY));
    assertFalse(rights.allowsCreate("ann", HR));
  }

  @Test
  void aRightOnNestedSchemasHoldsForTheInnerOne() {
    var rights = of("{'right': 'SELECT', 'kind': 'SCHEMA', 'name': ['lake', 'a']}");
    assertTrue(rights.allows("ann", Right.SELECT, List.of("lake", "a", "b", "t")));
    assertFalse(rights.allows("ann", Right.SELECT, List.of("lake", "b", "t")));
  }

  @Test
  void rightToCreateShowsNoTables() {
    var rights = of("{'right': 'CREATE', 'kind': 'SCHEMA', 'name': ['spark_catalog', 's']}");
    assertTrue(rights.seesSchema("ann", S));
    assertFalse(rights.sees("ann", ORDERS));
  }

  @Test
  void aRightOnTheCatalogOrTheEngineHoldsForAllTables() {
    assertTrue(
        of("{'right': 'INSERT', 'kind': 'CATALOG', 'name': ['spark_catalog']}")
            .allows("ann", Right.INSERT, PAY));
    assertTrue(
        of("{'right': 'SELECT', 'kind': 'ENGINE', 'name': []}").allows("ann", Right.SELECT, PAY));
  }

  @Test
  void theOwnerHasAllRights() {
    var rights =
        of("{'right': 'OWNER', 'kind': 'TABLE', 'name': ['spark_catalog', 's', 'orders']}");
    assertTrue(rights.allows("ann", Right.MODIFY, ORDERS));
    assertTrue(rights.allows("ann", Right.OWNER, ORDERS));
    assertFalse(rights.allowsCreate("ann", S));
  }

  @Test
  void anAdminMayDoEverything() {
    var rights = of("{'right': 'ADMIN', 'kind': 'ENGINE', 'name': []}");
    assertTrue(rights.isAdmin("ann"));
    assertTrue(rights.isAdmin(Principals.OWNER));
    assertTrue(rights.isAdmin(Principals.SYSTEM));
    assertFalse(rights.isAdmin("bob"));
  }

  @Test
  void rightsOnJobsAndSecretsAreNoneOnTables() {
    var rights =
        of(
            "{'right': 'OPERATE', 'kind': 'JOB', 'name': ['j']}",
            "{'right': 'USAGE', 'kind': 'SECRET', 'name': ['orders']}",
            "{'right': 'MONITOR', 'kind': 'ENGINE', 'name': []}");
    assertFalse(rights.sees("ann", ORDERS));
    assertFalse(rights.seesSchema("ann", S));
  }

  @Test
  void anUnknownRightIsAnError() {
    assertThrows(
        IllegalArgumentException.class,
        () -> of("{'right': 'FLY', 'kind': 'TABLE', 'name': ['spark_catalog', 's', 'orders']}"));
  }

  @Test
  void someSettingsAreForAllUsers() {
    Rights.publish("{\"users\": {}, \"settings\": [\"a.timeZone\"]}");
    assertTrue(Rights.current().isSetting("a.timezone"));
    assertFalse(Rights.current().isSetting("a.time"));
  }

  @Test
  void theEngineAsksForTheRightsOfAUser() {
    assertFalse(Rights.restrict("ann"));
    assertTrue(Rights.allow("ann", "SELECT", "[\"spark_catalog\", \"s\", \"orders\"]"));
    of(
        "{'right': 'SELECT', 'kind': 'TABLE', 'name': ['spark_catalog', 's', 'orders']}",
        "{'right': 'CREATE', 'kind': 'SCHEMA', 'name': ['spark_catalog', 'own']}");
    assertTrue(Rights.restrict("ann") && Rights.restrict("bob"));
    assertFalse(Rights.restrict(Principals.OWNER));
    assertTrue(Rights.allow("ann", "SELECT", "[\"spark_catalog\", \"s\", \"orders\"]"));
    assertFalse(Rights.allow("ann", "INSERT", "[\"spark_catalog\", \"s\", \"orders\"]"));
    assertTrue(Rights.allow("ann", "CREATE", "[\"spark_catalog\", \"own\", \"t\"]"));
    assertFalse(Rights.allow(null, "SELECT", "[\"spark_catalog\", \"s\", \"orders\"]"));
  }

  @Test
  void viewsHaveOwners() {
    Rights.publish(
        "{'users': {}, 'views': [{'name': ['spark_catalog', 's', 'V'], 'owner': 'bob'}]}"
            .replace('\'', '"'));
    assertEquals("bob", Rights.current().viewOwner(List.of("spark_catalog", "s", "v")));
    assertEquals(Principals.OWNER, Rights.current().viewOwner(ORDERS));
  }
}
