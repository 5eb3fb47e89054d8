"""Build the image of the engine without a container engine or an image registry: `python -m tools.kubernetes image`."""
