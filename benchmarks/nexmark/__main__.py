"""Run the benchmark."""

from benchmarks.nexmark.throughput import main

main(prog_name="python -m benchmarks.nexmark")
