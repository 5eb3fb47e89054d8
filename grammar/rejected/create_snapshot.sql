-- error: PARSE_SYNTAX_ERROR at 1:18: Expected FOR
CREATE SNAPSHOT s OF JOB j

-- error: PARSE_SYNTAX_ERROR at 1:17: Expected FOR, found the end of the statement
CREATE SNAPSHOT s

-- error: PARSE_SYNTAX_ERROR at 1:20: FOR was taken as the name
CREATE SNAPSHOT FOR JOB j

-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean CREATE?
CRATE SNAPSHOT s FOR JOB j
