"""`jetsql apply`: the objects that the SQL files of a folder declare, compared with an engine, and brought about."""
