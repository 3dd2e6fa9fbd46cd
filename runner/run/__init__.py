"""From checked cells to finished folders: plan, engine, budget waves, outcome."""
