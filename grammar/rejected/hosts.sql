-- error: PARSE_SYNTAX_ERROR at 1:39: Expected
CREATE SECRET shop FROM ENV 'SHOP' FOR broker
