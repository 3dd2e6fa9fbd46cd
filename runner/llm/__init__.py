"""One door to language and embedding models: cache -> budget -> limiter -> retry -> provider."""
