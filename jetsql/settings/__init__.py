"""The settings of the engine, from flags, the environment and `config.toml`."""
