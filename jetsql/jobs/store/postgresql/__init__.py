"""A store in a schema of PostgreSQL, which one engine leads while others wait as standbys."""
