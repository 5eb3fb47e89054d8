-- error: PARSE_SYNTAX_ERROR at 1:17: Expected
ALTER SECRET shop
