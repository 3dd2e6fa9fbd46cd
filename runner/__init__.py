"""Declarative experiments for retrieval-augmented generation and conversational memory."""

DISTRIBUTION = "runner-rag-experiments"  # what is installed; `runner` on the public index is another one
__version__ = "0.1.0"
