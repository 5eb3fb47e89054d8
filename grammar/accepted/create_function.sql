CREATE FUNCTION plus_one(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x + 1 $$;

CREATE OR REPLACE FUNCTION default.describe(x DECIMAL(10, 2), tags ARRAY<STRUCT<a: INT, b: STRING>>)
RETURNS STRING
LANGUAGE PYTHON
COMMENT 'a text; with a semicolon'
AS $body$
if x is None:
    return "none; $$"
return str(x)
$body$;

CREATE FUNCTION IF NOT EXISTS spark_catalog.default.now_in(zone STRING DEFAULT 'UTC') RETURNS STRING
NOT DETERMINISTIC LANGUAGE PYTHON AS $$ return zone $$;

CREATE FUNCTION squares(a INT, b INT) RETURNS TABLE (n INT, square INT) LANGUAGE PYTHON HANDLER 'Squares' AS $$
class Squares:
    def eval(self, a, b):
        yield a, b
$$
;
CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$
