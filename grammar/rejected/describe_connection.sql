-- error: INVALID_NAME at 1:20: A name is written without quotes or in back quotes, found ''pg''. Write `pg`.
DESCRIBE CONNECTION 'pg'
