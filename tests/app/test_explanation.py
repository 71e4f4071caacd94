"""What happened, in words: findings, checks, fixes, and the one-line sentence."""

import dataclasses

from rich.cells import cell_len

from tutor.app.model.explanation import explanation_rows, sentence
from tutor.app.model.fixes import all_fixes, offered
from tutor.attempt.verdict import CheckResult, Verdict
from tutor.explain import words
from tutor.explain.finding import Edit, Fix
from tutor.trace.trace import End, Trace

from . import made

FAILED = Verdict(
    "failed",
    (
        CheckResult(
            "the program ends without an error", "fails", "no error", "RuntimeError (line 3)"
        ),
        CheckResult("`y` is `x.exp() + 1`", "holds", "", ""),
        CheckResult("`x.grad` is `x.exp()`", "undecided", "", "`x.grad` is None"),
    ),
)


def rows(trace, findings=(), verdict=None, width=60, code=made.FAILING):
    return explanation_rows(trace, findings, verdict, words, width, "snippet.py", code=code)


def text(*args, **kwargs):
    return "\n".join(row.text.rstrip() for row in rows(*args, **kwargs))


def test_a_finding_says_what_why_where_and_what_to_change():
    said = text(made.failing_trace(), (made.inplace_finding(),))
    assert "✗ error: The result of exp was changed in place" in said
    assert "Line 2: add_ wrote into it, so its version went 0 → 1." in said
    assert "◆ cause           line 2  y.add_(1)" in said
    assert "◆ made it matter  line 1  y = x.exp()" in said
    assert "✗ came out here   line 3  y.sum().backward()" in said
    assert "Change: make a new tensor instead of writing into y" in said
    assert "  - y.add_(1)\n  + y = y + 1\n✓ ran without the finding\n[a] apply and run" in said


def test_places_are_links_to_lines():
    found = rows(made.failing_trace(), (made.inplace_finding(),))
    targets = [row.target.line for row in found if row.target]
    assert targets == [2, 1, 3]


def test_a_failed_check_says_wanted_and_got():
    said = text(made.failing_trace(), (), FAILED)
    assert "◆ Not yet: 2 of 3 checks do not hold." in said
    assert (
        "✗ the program ends without an error\n"
        "  wanted  no error\n"
        "  got     RuntimeError (line 3)" in said
    )
    assert "✓ y is x.exp() + 1" in said
    assert "? x.grad is x.exp()\n  undecided x.grad is None" in said


def test_a_mistake_is_answered_before_anything_else():
    verdict = dataclasses.replace(FAILED, mistake="`no_grad` stops *recording*, not counting.")
    first = rows(made.failing_trace(), (made.inplace_finding(),), verdict)[0]
    assert first.text == "◆ no_grad stops recording, not counting."


def test_done_is_said_first():
    verdict = Verdict("passed", (CheckResult("it runs", "holds", "", ""),))
    assert text(made.healthy_trace(), (), verdict).startswith(
        "✓ Done. Everything that was asked holds."
    )


def test_a_wrong_prediction_is_not_headed_as_done():
    right = Verdict("passed", (), chosen_right=True)
    wrong = Verdict("passed", (), chosen_right=False)
    assert text(made.healthy_trace(), (), right).startswith("✓ Done. You and the run agree.")
    assert text(made.healthy_trace(), (), wrong).startswith("◆ The run says otherwise.")


def test_fixes_of_other_files_and_refuted_ones_are_not_offered():
    finding = made.inplace_finding()
    elsewhere = Fix("there", (Edit("setup.py", 1, 1, "x"),))
    refuted = Fix("wrong", (Edit("snippet.py", 1, 1, "x"),), verified=False)
    both = dataclasses_like(finding, (elsewhere, refuted))
    assert all_fixes((both,), "snippet.py") == ()


def test_a_solved_step_offers_no_change():
    verdict = Verdict("passed", (CheckResult("it is wrong in silence", "holds", "", ""),))
    finding = made.inplace_finding()
    assert "Change:" in text(made.failing_trace(), (finding,))
    assert "Change:" not in text(made.failing_trace(), (finding,), verdict)
    assert offered((finding,), "snippet.py", done=False) == all_fixes((finding,), "snippet.py")
    assert offered((finding,), "snippet.py", done=True) == ()


def dataclasses_like(finding, fixes):
    import msgspec

    return msgspec.structs.replace(finding, fixes=fixes)


def test_an_indented_change_is_shown_without_the_shared_indent():
    finding = dataclasses_like(
        made.inplace_finding(),
        (Fix("a new tensor", (Edit("snippet.py", 5, 5, "        b = b * b"),)),),
    )
    said = text(made.founding_trace(), (finding,), code=made.FOUNDING)
    assert "  - b *= b\n  + b = b * b\n" in said


def test_a_run_without_trouble_says_so():
    assert "no error, and nothing that looks wrong" in text(made.healthy_trace()).replace("\n", " ")


def test_a_run_that_was_cut_short_says_why():
    trace = made.failing_trace(upto=20)
    trace.end = End("timeout", None, None, 5.0, message="It was stopped after 5 s.")
    assert text(trace).startswith("It was stopped after 5 s. What is shown")


def test_before_a_run_it_says_what_to_do():
    assert text(None).startswith("Run the code (r)")


def test_everything_fits_every_width():
    for width in (26, 40, 58, 100):
        found = rows(made.failing_trace(), (made.inplace_finding(),), FAILED, width)
        assert all(cell_len(row.text.rstrip()) <= width for row in found)


def test_the_sentence_names_the_finding_then_the_check_then_the_end():
    trace = made.failing_trace()
    said, role = sentence(trace, (made.inplace_finding(),), FAILED, words)
    assert said == "The result of exp was changed in place, and its backward needs it"
    assert role == "bad"
    wrong = Verdict("failed", (CheckResult("`y` is 3", "fails", "3", "4"),))
    said, role = sentence(made.healthy_trace(), (), wrong, words)
    assert said == "Not yet: y is 3. Wanted 3, got 4."
    assert sentence(made.healthy_trace(), (), Verdict("passed"), words)[1] == "good"
    assert sentence(None, (), None, words) == ("", "dim")


def test_a_syntax_error_is_told_as_what_it_is():
    trace = Trace()
    from tutor.trace import events as ev

    trace.extend([ev.Raised("SyntaxError", "invalid syntax", (("snippet.py", 1, ""),), "")])
    made.ended(trace, "error")
    assert "SyntaxError: invalid syntax" in text(trace)
