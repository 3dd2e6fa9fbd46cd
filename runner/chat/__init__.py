"""Talking to a memory: what is said, what is asked of it, and how that is shown."""
