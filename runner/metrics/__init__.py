"""Numbers from rankings, answers and labels. Pure functions: no I/O, no clock, no randomness."""
