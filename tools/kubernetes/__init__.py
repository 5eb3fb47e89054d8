"""Build the image of the engine without a container engine and an image registry: `python -m tools.kubernetes image`."""
