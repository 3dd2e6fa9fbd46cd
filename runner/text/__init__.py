"""Korean and English texts: sentences, words, numbers, names, claims, refusals. Pure functions: no I/O."""
