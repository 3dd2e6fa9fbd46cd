"""Stores: where the vectors of a corpus are kept and searched."""
