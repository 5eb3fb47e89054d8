"""SQL files as code: lint, format and convert them without an engine, and apply them to one."""
