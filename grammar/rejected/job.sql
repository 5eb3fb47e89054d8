-- error: INVALID_NAME at 1:12: Write `my-job`
SUSPEND JOB my-job

-- error: INVALID_NAME at 1:12: belong to no schema
SUSPEND JOB a.b

-- error: INVALID_NAME at 1:12: not a job id such as
SUSPEND JOB 'late flights'

-- error: INVALID_NAME at 1:12: cannot be empty
SUSPEND JOB ``

-- error: INVALID_NAME at 1:12: begin or end with a space
SUSPEND JOB ` j`

-- error: INVALID_NAME at 1:12: control characters
SUSPEND JOB `a	b`

-- error: INVALID_NAME at 1:12: Write `2024`
SUSPEND JOB 2024

-- error: INVALID_NAME at 1:12: at most 128 characters
SUSPEND JOB xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

-- error: PARSE_SYNTAX_ERROR at 1:12: Close it with `
SUSPEND JOB `j

-- error: INVALID_NAME at 1:11: without quotes or in back quotes
CREATE JOB '0401-9f77-b9c0-0001' AS INSERT INTO t SELECT 1

-- error: INVALID_NAME at 1:12: Write `a.``b````c d```
SUSPEND JOB a.`b``c d`

-- error: INVALID_NAME at 1:12: Write `a.b.c`
SUSPEND JOB a.b.c

-- error: INVALID_NAME at 1:12: Write `a.b-c`
SUSPEND JOB a.b-c
