"""The image of the engine, which is built without a container engine and without an image registry.

    python -m tools.kubernetes image
"""
