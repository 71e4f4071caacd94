"""Widgets: each renders from what it is given, and posts what the learner did there."""
