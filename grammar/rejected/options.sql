-- error: PARSE_SYNTAX_ERROR at 1:21: Expected an option's name in quotes
ALTER JOB j OPTIONS ()

-- error: PARSE_SYNTAX_ERROR at 1:20: Expected '('
ALTER JOB j OPTIONS 'a' = 'b'

-- error: PARSE_SYNTAX_ERROR at 1:31: ','
ALTER JOB j OPTIONS ('a' = 'b' 'c' = 'd')

-- error: PARSE_SYNTAX_ERROR at 1:31: Expected an option's name
ALTER JOB j OPTIONS ('a' = 'b',)

-- error: PARSE_SYNTAX_ERROR at 1:30: found the end of the statement
ALTER JOB j OPTIONS ('a' = 'b'
