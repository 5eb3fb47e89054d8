-- error: PARSE_SYNTAX_ERROR at 1:24: Expected
CREATE SECRET shop FROM '/run/secrets/shop'
