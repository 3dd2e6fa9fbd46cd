"""Notes as a graph: links, what they mean, and what stands near what."""
