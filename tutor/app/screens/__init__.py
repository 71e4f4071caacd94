"""Screens: each routes between its widgets; nothing else knows two widgets at once."""
