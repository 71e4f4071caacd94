"""The observer: runs in the learner's process, watches torch and the interpreter, emits events.

It changes nothing that a program can tell: results, errors, freeing, warnings and printed
tracebacks are those of a bare run. Nothing of it may raise into the program.
"""
