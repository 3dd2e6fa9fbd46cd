"""Chunkers: where a document is cut into the passages that are searched for."""
