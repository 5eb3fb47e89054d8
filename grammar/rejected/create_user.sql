-- error: PARSE_SYNTAX_ERROR at 1:11: a name for the user
CREATE USER

-- error: PARSE_SYNTAX_ERROR at 1:16: found 'WITH'
CREATE USER ann WITH PASSWORD 'x'
