"""What to run: a folder for each kind of component, a YAML file for each choice. The only place that names classes."""
