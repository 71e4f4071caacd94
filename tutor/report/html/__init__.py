"""The report as one HTML file that needs nothing else: no network, no other file.

Everything is in the page as it is at the end of the run, so it can be read without scripts and
on paper. Elements say from which stop to which they are true (`data-a`, `data-z`), and the time
slider shows those that are true at its stop.
"""

from tutor.report.html.page import render

__all__ = ["render"]
