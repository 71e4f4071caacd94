"""Speed as ratios, each measured against its bare counterpart in the same run.

`make bench` prints the table and fails where a bar that is held is exceeded. Absolute times
depend on the machine and are printed only as goals.
"""
