"""The statements about alerts, and the relation of their messages."""
