package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DeparturesTest {
  private static final String PLANNED = "Executor decommission: worker decommissioned";
  private static final String KILLED = "Executor killed by driver.";

  private final Departures departures = new Departures();
  private long now;

  private void update(List<String> executors, String... leaving) {
    departures.update(executors, Set.of(leaving)::contains, now);
  }

  private void check(Set<String> present, Set<String> leaving, Set<String> left) {
    assertEquals(present, departures.present());
    assertEquals(leaving, departures.leaving());
    assertEquals(left, departures.left());
  }

  @Test
  void executorThatIsDecommissionedLeavesAsPlanned() {
    update(List.of("1", "2"), "2");
    check(Set.of("1", "2"), Set.of("2"), Set.of());
    update(List.of("1"));
    departures.remove("2", PLANNED);
    check(Set.of("1"), Set.of(), Set.of("2"));
    assertTrue(departures.hasLeft("2", PLANNED));
  }

  @Test
  void reasonNamesADepartureThatWasNotSeen() {
    update(List.of("1", "2"));
    departures.remove("2", PLANNED);
    check(Set.of("1"), Set.of(), Set.of("2"));
  }

  @Test
  void anExecutorThatTookTooLongLeftAsPlanned() {
    update(List.of("1", "2"), "2");
    departures.remove("2", KILLED);
    check(Set.of("1"), Set.of(), Set.of("2"));
    assertTrue(departures.hasLeft("2", KILLED));
  }

  @Test
  void otherRemovalsAreLosses() {
    update(List.of("1", "2"));
    departures.remove("2", KILLED);
    check(Set.of("1"), Set.of(), Set.of());
    assertFalse(departures.hasLeft("2", KILLED));
  }

  @Test
  void aRemovalWithoutItsEventIsAwaited() {
    update(List.of("1", "2"));
    now = 1_000;
    update(List.of("1"));
    check(Set.of("1", "2"), Set.of(), Set.of());
    departures.remove("2", PLANNED);
    check(Set.of("1"), Set.of(), Set.of("2"));
  }

  @Test
  void aDroppedEventIsNotAwaitedForLong() {
    update(List.of("1", "2", "3"), "3");
    now = 1_000;
    update(List.of("1"));
    now = 5_999;
    update(List.of("1"));
    assertEquals(Set.of("1", "2", "3"), departures.present());
    now = 6_000;
    update(List.of("1"));
    check(Set.of("1"), Set.of(), Set.of("3"));
  }

  @Test
  void onlyTheNewestDeparturesAreKept() {
    for (int id = 0; id < 1_500; id++) departures.remove(String.valueOf(id), PLANNED);
    assertEquals(1_000, departures.left().size());
    assertTrue(departures.left().contains("1499"));
    assertFalse(departures.left().contains("499"));
  }
}
