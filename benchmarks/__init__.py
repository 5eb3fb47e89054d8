"""Benchmarks: what JetSQL costs over plain Spark, how fast its statements are, how long it takes to start.

    python -m benchmarks.overhead      a job beside the same query written by hand
    python -m benchmarks.lifecycle     CREATE, SUSPEND, RESUME, RESTART, DROP, SHOW JOBS
    python -m benchmarks.startup       from the process to the first answer, beside bare Spark
    python -m benchmarks.scaling       members that join and are killed, many jobs, idle jobs
    python -m benchmarks.completion    what completion adds to a key that is pressed in the shell

Each prints what it compares, on what machine, and a table. Nothing asserts a time: the numbers are for people, who know
what else their machine was doing. What is compared runs interleaved, so that a busy minute hits both sides.
"""
