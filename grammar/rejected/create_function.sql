-- error: PARSE_SYNTAX_ERROR at 1:53: Expected PYTHON, found 'JAVA'
CREATE FUNCTION plus_one(x INT) RETURNS INT LANGUAGE JAVA AS $$ return x + 1; $$

-- error: PARSE_SYNTAX_ERROR at 1:7: Leave out TEMPORARY
CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$

-- error: PARSE_SYNTAX_ERROR at 1:40: The language of the function is missing
CREATE FUNCTION f(x INT) RETURNS INT AS $$ return x $$

-- error: PARSE_SYNTAX_ERROR at 1:53: Install them there
CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON ENVIRONMENT (dependencies = '[]') AS $$ return x $$

-- error: PARSE_SYNTAX_ERROR at 1:56: The string that begins here is not closed
CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x

-- error: INVALID_NAME at 1:16: is not a single word
CREATE FUNCTION my-f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$

-- error: INVALID_NAME at 1:16: at most three parts
CREATE FUNCTION a.b.c.f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$

-- error: PARSE_SYNTAX_ERROR at 1:56: Expected Python source between $$ and $$
CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS return

-- error: PARSE_SYNTAX_ERROR at 1:53: LANGUAGE is written twice
CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON LANGUAGE PYTHON AS $$ return x $$

-- error: PARSE_SYNTAX_ERROR at 1:27: cannot be combined
CREATE OR REPLACE FUNCTION IF NOT EXISTS f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$
