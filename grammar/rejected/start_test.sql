-- error: PARSE_SYNTAX_ERROR at 1:10: a name for the test
START TEST
