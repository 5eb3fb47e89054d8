"""`jetsql format`: the layout of statements, and the proof that a formatted text means the same."""
