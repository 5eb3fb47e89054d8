package dev.jetsql.scheduling;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class CancelledJobGroupsTest {
  @Test
  void dropsTheOldestGroupsBeyondTheCapacity() {
    var groups = CancelledJobGroups.newest(2);
    groups.addAll(List.of("a", "b", "c"));
    assertEquals(List.of("b", "c"), List.copyOf(groups));
  }

  @Test
  void countsAGroupOnceThatIsCancelledAgain() {
    var groups = CancelledJobGroups.newest(2);
    groups.addAll(List.of("a", "b", "b", "b"));
    assertEquals(List.of("a", "b"), List.copyOf(groups));
  }
}
