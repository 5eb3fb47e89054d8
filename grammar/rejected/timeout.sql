-- error: PARSE_SYNTAX_ERROR at 1:23: Expected a whole number
WAIT FOR JOB j TIMEOUT 1.5 SECONDS

-- error: PARSE_SYNTAX_ERROR at 1:23: Expected a whole number
WAIT FOR JOB j TIMEOUT '5'

-- error: PARSE_SYNTAX_ERROR at 1:23: Expected a whole number
WAIT FOR JOB j TIMEOUT -5

-- error: PARSE_SYNTAX_ERROR at 1:25: SECONDS
WAIT FOR JOB j TIMEOUT 5 MINUTES

-- error: PARSE_SYNTAX_ERROR at 1:23: more than 9 digits
WAIT FOR JOB j TIMEOUT 12345678901
