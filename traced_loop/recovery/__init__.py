"""Runs whose process is gone: their records are brought to an end, and they go on from there."""
