"""What tracking components need: what to keep of a folder, and the door to MLflow."""
