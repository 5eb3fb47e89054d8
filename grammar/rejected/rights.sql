-- error: PARSE_SYNTAX_ERROR at 1:10: Expected TO
GRANT ALL ON TABLE t TO ann
