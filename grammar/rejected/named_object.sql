-- error: PARSE_SYNTAX_ERROR at 1:24: a URL in quotes
GRANT USAGE ON LOCATION files TO ann
