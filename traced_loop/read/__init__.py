"""Stored traces, read into one neutral model."""
