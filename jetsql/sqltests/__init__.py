"""`jetsql test`: unit tests of SQL files, which need no broker and no database."""
