"""The kinds of trouble, one module each: what it is, how to recognise it, what to change."""
