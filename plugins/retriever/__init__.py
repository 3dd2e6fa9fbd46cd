"""Retrievers: which chunks are relevant to a question, best first."""
