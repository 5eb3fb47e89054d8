-- error: PARSE_SYNTAX_ERROR at 1:13: Expected FOR
CREATE TOKEN ann

-- error: PARSE_SYNTAX_ERROR at 1:32: cannot expire in 0 days
CREATE TOKEN FOR ann EXPIRES IN 0 DAYS
