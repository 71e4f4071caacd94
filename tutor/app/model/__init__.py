"""View models: pure functions from a trace, findings and lessons to rows of text.

Nothing here imports textual, so that what the learner sees is tested without a screen.
"""
