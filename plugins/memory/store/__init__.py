"""Stores of a memory: where its sessions are kept, and that no turn is lost or kept twice."""
