"""Retrieval that decides for itself: tools, what is enough, when to stop, what to say where nothing was found."""
