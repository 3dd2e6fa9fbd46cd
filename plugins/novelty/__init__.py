"""Novelty of traces: how far each is from those before it."""
