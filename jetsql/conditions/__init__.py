"""The conditions of errors: SQLSTATE, meaning and remedy of each."""
