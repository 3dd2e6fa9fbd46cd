"""Running systems: what they say of their answers, told in reports."""
