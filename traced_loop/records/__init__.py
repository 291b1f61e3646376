"""What survives the process: the store, the transcript, the spans."""
