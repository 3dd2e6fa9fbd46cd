"""The components of runs: a package for each group of conf, a module for each choice. No plugin imports another."""
