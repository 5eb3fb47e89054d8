"""Benchmarks of JetSQL: its overhead over plain Spark, the latency of its statements, and its start time.

    python -m benchmarks.overhead      a job compared with the same query written by hand
    python -m benchmarks.lakehouse     jobs into Delta and Iceberg tables compared with programs by hand
    python -m benchmarks.lifecycle     CREATE, SUSPEND, RESUME, RESTART, DROP, SHOW JOBS
    python -m benchmarks.commands      commands and the shell's prompt, with a running engine
    python -m benchmarks.startup       the start from the process to the first result, compared with bare Spark
    python -m benchmarks.container     the start from the container to the first answer
    python -m benchmarks.scaling       executors that join and are killed, many jobs, idle jobs
    python -m benchmarks.small_batches  batches with one row, between files, between topics, and with state
    python -m benchmarks.kafka         streams through topics, compared with PySpark
    python -m benchmarks.completion    the processor time that a key press costs in the shell
    python -m benchmarks.unit_tests    100 unit tests of SQL files with `jetsql test`
    python -m benchmarks.row_rules     a job with three rules for its rows compared with the same job without
    python -m benchmarks.compare REV   short ones of these, compared with another commit
    python -m benchmarks.faults        the crash matrix: kill -9 at every failpoint

Each benchmark prints the compared variants, the machine, and a table. Compared variants run interleaved, so that other
load affects both. Except the crash matrix and the comparison with a commit, no benchmark fails because of a figure: the
user must know which other load the machine had.
"""
