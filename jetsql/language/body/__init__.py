"""Read the bodies of jobs: INSERT and SINK INTO, CREATE TABLE ... AS, and AUTO CDC."""
