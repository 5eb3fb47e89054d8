-- error: PARSE_SYNTAX_ERROR at 1:9: the end of the statement
RUN JOBS now
