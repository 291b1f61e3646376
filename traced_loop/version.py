"""The version of the package: the instrumentation scope carries it, so does every root span."""

__version__ = "0.1.0"
