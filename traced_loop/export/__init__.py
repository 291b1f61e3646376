"""Where spans go beside the local store: OTLP, and what the application owns."""
