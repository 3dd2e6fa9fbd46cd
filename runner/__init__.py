"""Declarative experiments for retrieval-augmented generation and conversational memory."""

__version__ = "0.1.0"
