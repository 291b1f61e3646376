"""Models: adapters for servers, and scripts that need none."""
