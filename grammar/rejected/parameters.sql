-- error: PARSE_SYNTAX_ERROR at 1:24: Expected a name, found ')'
CREATE FUNCTION f(a INT,) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$
