-- error: PARSE_SYNTAX_ERROR at 1:19: Expected a data type, found ')'
CREATE FUNCTION f(a) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$

-- error: PARSE_SYNTAX_ERROR at 1:31: Expected an expression, found ')'
CREATE FUNCTION f(a INT DEFAULT) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$
