package dev.jetsql.expectations;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * The rows of a batch that violate each rule. Spark may run a task twice, and a sink may read the
 * rows twice, so the counts of each task are kept by its stage and its partition: the first stage
 * reads all rows.
 */
final class ViolationCounts extends AccumulatorV2<Long, long[]> {
  private static final long serialVersionUID = 1L;

  private final int rules;
  private final TreeMap<Integer, Map<Integer, long[]>> byStage = new TreeMap<>();
  private long[] own;
  private int stage;
  private int partition;

  /** Creates counts of zero. rules: the number of the rules */
  ViolationCounts(int rules) {
    this.rules = rules;
  }

  /** Counts a row. violated: a bit for each rule that it violates */
  void count(long violated) {
    if (own == null) begin();
    own[rules]++;
    for (var rest = violated; rest != 0; rest &= rest - 1) own[Long.numberOfTrailingZeros(rest)]++;
  }

  private void begin() {
    var task = TaskContext.get();
    own = new long[rules + 1];
    stage = task.stageId();
    partition = task.partitionId();
  }

  @Override
  public void add(Long violated) {
    count(violated);
  }

  @Override
  public boolean isZero() {
    return own == null && byStage.isEmpty();
  }

  @Override
  public ViolationCounts copy() {
    var copy = new ViolationCounts(rules);
    copy.merge(this);
    return copy;
  }

  @Override
  public synchronized void reset() {
    own = null;
    byStage.clear();
  }

  @Override
  public synchronized void merge(AccumulatorV2<Long, long[]> other) {
    var counts = (ViolationCounts) other;
    counts.byStage.forEach((number, each) -> ofStage(number).putAll(each));
    if (counts.own != null) ofStage(counts.stage).put(counts.partition, counts.own.clone());
  }

  private Map<Integer, long[]> ofStage(int number) {
    return byStage.computeIfAbsent(number, each -> new HashMap<>());
  }

  /** Returns the number of rows that violate each rule, and last the number of all rows. */
  @Override
  public synchronized long[] value() {
    var sum = new long[rules + 1];
    if (byStage.isEmpty()) return sum;
    for (var counts : byStage.firstEntry().getValue().values())
      for (int i = 0; i <= rules; i++) sum[i] += counts[i];
    return sum;
  }
}
