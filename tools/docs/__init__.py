"""The documentation: parts of the reference that are generated from the code, pictures, and the site.

python -m tools.docs             writes the generated parts into docs/ and the pictures next to them
python -m tools.docs.site DIR    builds the site into a folder; a broken link or a missing page fails
"""
