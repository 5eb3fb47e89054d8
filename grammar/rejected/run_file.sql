-- error: PARSE_SYNTAX_ERROR at 1:9: a file's name in quotes
RUN FILE totals

-- error: PARSE_SYNTAX_ERROR at 1:4: FILE or JOBS
RUN totals
