"""Agentic retrieval: tools, sufficiency, stopping, and messages where nothing was found."""
