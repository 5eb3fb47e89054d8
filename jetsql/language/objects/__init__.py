"""The names of objects in statements, and the statements about users and rights."""
