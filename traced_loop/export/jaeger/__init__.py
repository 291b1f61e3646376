"""Spans to sites that still run Jaeger v1 agents or collectors; needs the extra ``jaeger-client``."""
