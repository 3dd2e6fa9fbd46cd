"""Rerankers: the order of what an agent found, and whether it is enough."""
