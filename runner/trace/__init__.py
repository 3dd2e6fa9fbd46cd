"""Traces of what agents thought and did, and what they are worth."""
