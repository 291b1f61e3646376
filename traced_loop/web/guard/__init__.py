"""Who may ask for a page: this machine's browser that has opened the link, and nobody else."""
