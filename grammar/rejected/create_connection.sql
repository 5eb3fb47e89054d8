-- error: PARSE_SYNTAX_ERROR at 1:26: found 'mysql'
CREATE CONNECTION pg TYPE mysql OPTIONS ('url' = 'jdbc:mysql://db/shop')

-- error: PARSE_SYNTAX_ERROR at 1:30: Expected OPTIONS
CREATE CONNECTION pg TYPE jdbc
