"""The commands of line mode, in words."""

HELP = [
    "Going on:    next, previous, step N, lessons, lesson ID, quit",
    "Code:        show, edit, code FILE, reset, run",
    "Stuck:       hint, solution, skip (takes the solution and goes on)",
    "After a run: why, apply N, checks, output, tensors",
    "             graph, graph of y, versions, versions of b",
    "Back in time: at line 7, at line 7 iteration 3, at end;",
    "             then tensors, graph and versions show that moment",
    "Questions:   type the number of your answer; again asks anew",
    "Later:       recall asks what earlier lessons taught",
]
