-- error: PARSE_SYNTAX_ERROR at 1:16: TABLE or VIEW, found 's'
GRANT SELECT ON s.t TO ann

-- error: PARSE_SYNTAX_ERROR at 1:13: Expected ON or ',', found 'TO'
GRANT SELECT TO ann

-- error: PARSE_SYNTAX_ERROR at 1:14: Expected TO
GRANT MONITOR ON TABLE t TO ann
