"""The sentences that people read: one YAML file a room and language, and what reads them."""
