"""Data sets: documents and questions, places for links, or traces, read and checked."""
