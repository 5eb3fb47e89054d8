-- error: PARSE_SYNTAX_ERROR at 1:5: Did you mean SNAPSHOT?
DROP SNAPSHOTS s

-- error: PARSE_SYNTAX_ERROR at 1:13: a snapshot's name
DROP SNAPSHOT
