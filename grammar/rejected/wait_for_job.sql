-- error: PARSE_SYNTAX_ERROR at 1:5: Expected FOR
WAIT JOB j

-- error: PARSE_SYNTAX_ERROR at 1:22: Expected a whole number
WAIT FOR JOB j TIMEOUT

-- error: PARSE_SYNTAX_ERROR at 1:9: Expected JOB
WAIT FOR j
