# Written by `python scripts/generate_python.py` from the engine's tables and from scripts/generate_python.toml.
"""Modules that follow from the engine's tables."""
