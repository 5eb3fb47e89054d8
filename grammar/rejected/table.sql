-- error: PARSE_SYNTAX_ERROR at 1:23: a table's name
DROP STREAMING TABLE a.

-- error: INVALID_NAME at 1:21: Write `my-t`
DROP STREAMING TABLE my-t
