"""The web console: pages about an engine and its jobs, mounted on the HTTP endpoint.

The pages show the rows of statements and the metrics that the manager has in memory. Every change is a statement that
runs as one of `POST /v1/sql` does, and the page shows its text.
"""
