"""Statements in cells of notebooks: `%load_ext jetsql`, then `%jetsql` and `%%jetsql`.

Only this package imports IPython, which every notebook has.
"""
