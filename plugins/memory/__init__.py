"""Memories: what is kept of a conversation, and what of it is shown for a question."""
