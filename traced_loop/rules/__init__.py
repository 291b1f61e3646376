"""Pure rules: no I/O, no clock of their own; used live and on stored traces alike."""
