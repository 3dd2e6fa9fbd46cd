"""Embedders: a vector for each text."""
