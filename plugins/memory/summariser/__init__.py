"""Summarisers of a memory: turns made into a summary and entities."""
