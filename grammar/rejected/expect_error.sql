-- error: PARSE_SYNTAX_ERROR at 1:13: the condition of an error in quotes
EXPECT ERROR DIVIDE_BY_ZERO IN JOB j
