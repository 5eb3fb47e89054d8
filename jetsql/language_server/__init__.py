"""The language server, `jetsql lsp`: diagnostics, completion, hover, navigation and formatting in editors.

It shares the grammar, the completion and the catalog cache with the shell, and lint and format with `jetsql.sqlfiles`.
Only this package imports pygls, which the extra `lsp` installs.
"""
