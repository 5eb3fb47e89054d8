-- error: PARSE_SYNTAX_ERROR at 1:22: Expected TO
ALTER TABLE s.t OWNER ann
