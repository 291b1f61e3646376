"""What is found in a stored run: why it stopped, what it waited for, what it cost, what it broke."""
