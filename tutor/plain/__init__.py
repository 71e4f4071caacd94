"""Lessons and what happened by lines of text: for pipes, logs and screen readers."""
