"""The parts of the loop. They do not call one another; only the controller orders them."""
