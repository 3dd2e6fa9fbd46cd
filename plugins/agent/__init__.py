"""Agents: which tool is called next, and when there is enough."""
