"""The statements about users, roles, tokens and rights, and the checks of rights before other statements."""
