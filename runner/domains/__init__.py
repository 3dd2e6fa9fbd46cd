"""One folder a kind of evaluation: its nouns, protocols, files and scoring."""
