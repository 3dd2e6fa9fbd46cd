"""The common part of tracking components: which parts of a folder they keep, and the door to MLflow."""
