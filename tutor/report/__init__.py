"""What happened in a run, for people (`text`) and for programs (`json`)."""
