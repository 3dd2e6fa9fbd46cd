"""Extraction without a model: statements, the facts in them, and which of them still hold."""
