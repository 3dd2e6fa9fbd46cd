"""From arguments to checked configurations and components: every problem is found before anything runs."""
