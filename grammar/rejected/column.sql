-- error: PARSE_SYNTAX_ERROR at 1:36: Expected a data type, found ')'
CREATE FUNCTION f() RETURNS TABLE (a) LANGUAGE PYTHON AS $$ return 1 $$
