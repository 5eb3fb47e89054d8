"""The image of the engine, and a Kubernetes on this machine, without a container engine or an image registry.

The commands: `python -m tools.kubernetes --help`.
"""
