"""Evaluations: what a case is, what happens to it, and what is measured of that."""
