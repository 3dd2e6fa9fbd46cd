"""Running systems: reports on what their replies state."""
