"""The runs that ``demo``, ``sandbox`` and ``self-check`` play."""
