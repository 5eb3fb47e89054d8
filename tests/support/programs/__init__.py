"""Programs that tests run as processes of their own, to kill them or because they create a Spark session."""
