"""Conversational memory: what is remembered of a conversation, how it is kept, and what of it reaches a model."""
