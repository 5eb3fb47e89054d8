"""Nexmark: 24 queries over the events of an auction site. Each runs as a job, and its result is compared with batch."""
