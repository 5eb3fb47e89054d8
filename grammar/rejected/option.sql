-- error: PARSE_SYNTAX_ERROR at 1:25: Expected '='
ALTER JOB j OPTIONS ('a' 'b')

-- error: PARSE_SYNTAX_ERROR at 1:21: Write it in quotes: 'autoScaling'
ALTER JOB j OPTIONS (autoScaling = 'true')

-- error: PARSE_SYNTAX_ERROR at 1:37: Write it in quotes: 'true'
ALTER JOB j OPTIONS ('autoScaling' = true)

-- error: PARSE_SYNTAX_ERROR at 1:27: Write it in quotes: '5'
ALTER JOB j OPTIONS ('a' = 5)

-- error: PARSE_SYNTAX_ERROR at 1:27: Expected '='
ALTER JOB j OPTIONS ('a = 'b')
