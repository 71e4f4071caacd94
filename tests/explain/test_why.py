"""Messages and tracebacks as people paste them, and what `why` makes of them."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.programs import load
from tutor.explain.patterns import loose, table
from tutor.explain.registry import BY_ID
from tutor.explain.why import Frame, Meaning, why, words

HERE = Path(__file__).parent
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [3]], which is output 0 of MulBackward0, is at version 5; "
    "expected version 4 instead. Hint: enable anomaly detection to find the operation that failed "
    "to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
)
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling backward."
)
TRACEBACK = f"""\
Traceback (most recent call last):
  File "/home/ann/net/train.py", line 30, in <module>
    main()
  File "/home/ann/net/train.py", line 22, in main
    loss.backward()
  File "/opt/env/lib/python3.10/site-packages/torch/_tensor.py", line 488, in backward
    torch.autograd.backward(
  File "/opt/env/lib/python3.10/site-packages/torch/autograd/__init__.py", line 200, in backward
    Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
RuntimeError: {MODIFIED}
"""
# Kinds that the tests of `explain` count as the same.
SAME = (
    {"inplace-saved", "optimizer-step-stale"},
    {"grad-none-nonleaf", "grad-none-disconnected"},
    {"unregistered-module", "optimizer-misuse", "stale-optimizer"},
    {"hook-misuse", "overlapping-memory"},
    {"custom-function", "forward-mode"},
)


def only(text: str) -> Meaning:
    answer = why(text)
    assert len(answer.meanings) == 1, [one.sentence for one in answer.meanings]
    return answer.meanings[0]


def named(meaning: Meaning) -> set[str]:
    kinds = {meaning.kind, *(other.kind for other in meaning.others)}
    return kinds.union(*(same for same in SAME if meaning.kind in same))


def entries() -> list[dict[str, str]]:
    found = load(HERE.parent / "programs" / "reproducers.yaml")
    assert isinstance(found, list)
    return [one for one in found if one.get("message")]


# --- every message ----------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries(), ids=lambda one: one["id"])
def test_each_message_of_torch_gets_its_kind(entry: dict[str, str]) -> None:
    text = entry["message"]
    warned = entry["is_warning"]
    for pasted in (f"{'UserWarning' if warned else 'RuntimeError'}: {text}", text):
        if entry["id"] == "saved-hooks-disabled" and pasted == text:
            continue  # the program chose these words, and nothing in them says so
        answer = why(pasted)
        first = answer.meanings[0]
        assert entry["finding"] in named(first), (pasted, first.sentence)
        assert first.title
        assert first.tries
        if len(first.others) > 1:
            assert all(other.tell for other in first.others)


def test_most_messages_get_their_kind_first() -> None:
    messages = entries()
    first = [why(f"RuntimeError: {one['message']}").meanings[0].kind for one in messages]
    right = [kind == one["finding"] for kind, one in zip(first, messages, strict=True)]
    assert sum(right) / len(right) > 0.95


@pytest.mark.parametrize(
    ("kind", "text"),
    [(kind, text) for kind, said in load(HERE / "wordings.yaml").items() for text in said],  # type: ignore[attr-defined]
)
def test_older_wordings_get_the_same_kind_first(kind: str, text: str) -> None:
    for pasted in (text, f"RuntimeError: {text}", f"  > E   RuntimeError: {text}"):
        assert why(pasted).meanings[0].kind == kind


def test_the_two_founding_messages() -> None:
    modified = only(MODIFIED)
    assert modified.kind == "inplace-saved"
    assert {"found": 5, "expected": 4, "op": "MulBackward0"}.items() <= modified.facts.items()
    assert (modified.facts["shape"], modified.facts["dtype"]) == ("[3]", "float32")
    assert "version was 4, now it is 5: 1 write in between" in " ".join(modified.text)
    assert [other.kind for other in modified.others] == ["inplace-saved", "optimizer-step-stale"]
    freed = only(FREED)
    assert freed.kind == "freed-graph"
    assert any("retain_graph=True" in one for one in freed.tries)
    assert any("detach()" in one for one in freed.tries)


def test_a_lesson_is_named_only_if_it_is_installed() -> None:
    assert only(FREED).lesson is None
    answer = why(FREED, frozenset({"backward.freed"}))
    assert answer.meanings[0].lesson == "backward.freed"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "[torch.cuda.HalfTensor [128, 1]], which is output 0 of TBackward, is at version 7; "
            "expected version 4 instead",
            {"dtype": "float16", "device": "cuda", "writes": "3 writes", "weight": True},
        ),
        (
            "[torch.LongTensor [2]] is at version 1; expected version 0 instead.",
            {"dtype": "int64", "leaf": True, "writes": "1 write"},
        ),
    ],
)
def test_facts_are_read_out_of_the_message(text: str, facts: dict[str, object]) -> None:
    start = MODIFIED.split(": ")[0]
    assert facts.items() <= only(f"RuntimeError: {start}: {text}").facts.items()


def test_facts_end_where_the_sentence_goes_on() -> None:
    shape = only(
        "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and "
        "output[0] has a shape of torch.Size([3, 1])."
    )
    assert (shape.facts["got"], shape.facts["expected"]) == ("[2]", "[3, 1]")
    assert "`SqrtBackward0`" in " ".join(
        only("Error detected in SqrtBackward0. No forward pass information available.").text
    )
    assert only("RuntimeError: expected Variable or None (got float)").facts["got"] == "float"


# --- layouts ----------------------------------------------------------------------------


def each_line(start: str, text: str = TRACEBACK) -> str:
    return "\n".join(start + line for line in text.splitlines())


LAYOUTS = {
    "as it is": TRACEBACK,
    "indented": textwrap.indent(TRACEBACK, "      "),
    "quoted": each_line("> "),
    "quoted twice": each_line(">> "),
    "fenced": f"```python\n{TRACEBACK}```\n",
    "in a question": f"I get this error:\n\n{textwrap.indent(TRACEBACK, '    ')}\nPlease help!",
    "carriage returns": TRACEBACK.replace("\n", "\r\n"),
    "after a progress bar": f"Epoch 1:  3%|# | 3/100 [00:01<00:40]\r{TRACEBACK}",
    "coloured": TRACEBACK.replace("RuntimeError", "\x1b[31;1mRuntimeError\x1b[0m"),
    "coloured, without the escape": TRACEBACK.replace("RuntimeError", "[0;31mRuntimeError[0m"),
    "time stamps": each_line("2024-05-01T12:34:56.1234567Z "),
    "clock": each_line("12:34:56 "),
    "syslog": each_line("May  1 12:34:56 node1 python[123]: "),
    "a container": each_line("trainer-1  | "),
    "task numbers": each_line("0: "),
    "a rank": each_line("[rank0]: "),
    "a launcher": each_line("[1,0]<stderr>:"),
    "an actor": each_line("(Worker pid=123) "),
    "logged": f"2024-05-01 12:00:00,123 - root - ERROR - it failed\n{TRACEBACK}",
    "a log line for each": each_line("2024-05-01 12:00:00,123 - root - ERROR - "),
    "spaced out": TRACEBACK.replace("\n", "\n\n"),
    "wide spaces": TRACEBACK.replace("    ", "\u00a0\u00a0\u00a0\u00a0"),
    "escaped for the web": TRACEBACK.replace('"', "&quot;").replace("<", "&lt;"),
    "one line of JSON": '{"exc": "' + TRACEBACK.replace('"', '\\"').replace("\n", "\\n") + '"}',
    "commented out": each_line("# "),
    "more log after it": TRACEBACK + "\nwandb: Waiting for the process to finish\nwandb: done\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_makes_no_difference(name: str) -> None:
    meaning = only(LAYOUTS[name])
    assert meaning.kind == "inplace-saved"
    assert (meaning.facts["found"], meaning.facts["expected"]) == (5, 4)
    assert meaning.surfaced is not None
    where = (meaning.surfaced.file, meaning.surfaced.line, meaning.surfaced.function)
    assert where == ("/home/ann/net/train.py", 22, "main")
    assert meaning.surfaced.text == "loss.backward()"
    assert [frame.line for frame in meaning.callers] == [30]


@pytest.mark.parametrize("columns", [40, 72, 80, 132])
@pytest.mark.parametrize("hard", [False, True])
def test_a_wrapped_message_is_read_whole(columns: int, hard: bool) -> None:
    text = f"RuntimeError: {MODIFIED}"
    rows = (
        [text[i : i + columns] for i in range(0, len(text), columns)]
        if hard
        else textwrap.wrap(text, columns)
    )
    for start in ("", "> ", "  "):
        meaning = only("\n".join(start + row for row in rows))
        assert (meaning.facts["found"], meaning.facts["expected"]) == (5, 4)
        assert not meaning.cut


@pytest.mark.parametrize("size", [45, 60, 90, 110, 140, 200])
def test_a_message_cut_at_its_end_is_known(size: int) -> None:
    for text in (MODIFIED[:size], f"RuntimeError: {MODIFIED[:size]}...", f"{MODIFIED[:size]}…"):
        assert only(text).kind == "inplace-saved"


def test_a_message_cut_at_its_start_is_known() -> None:
    meaning = only("computation has been modified by an inplace operation: [torch.FloatTensor")
    assert meaning.kind == "inplace-saved"
    assert meaning.cut


def test_a_part_that_several_sentences_share_names_them_all() -> None:
    meaning = only("RuntimeError: Trying to backward through")
    assert meaning.cut
    assert {"freed-graph", "custom-op"} <= {other.kind for other in meaning.others}


# --- whole pastes -----------------------------------------------------------------------

PASTES: dict[str, list[tuple[str, str, str]]] = {
    # (kind, innermost line of the person's own, line that anomaly mode names)
    "anomaly": [("inplace-saved", "mod.py:6", "mod.py:3")],
    "chained": [("inplace-saved", "mod.py:6", ""), ("other", "chain.py:7", "")],
    "ci": [("inplace-leaf", "train.py:11", "")],
    "colours": [("nonscalar-backward", "<ipython-input-2-5>:4", "")],
    "crash": [("other", "", "")],
    "group": [
        ("inplace-saved", "mod.py:6", ""),
        ("other", "group.py:6", ""),
        ("other", "group.py:9", ""),
    ],
    "ipython-7": [("freed-graph", "<ipython-input-4-aa11>:2", "")],
    "ipython-8": [("no-grad-fn", "train.py:12", "")],
    "json-log": [("nonscalar-backward", "train.py:5", "")],
    "loader": [("numpy-on-grad", "loader.py:7", ""), ("other", "loader.py:9", "")],
    "loguru": [("nonscalar-backward", "train.py:6", "")],
    "no-last-line": [],
    "pytest-long": [("inplace-saved", "mod.py:6", "")],
    "pytest-short": [("inplace-saved", "mod.py:6", "")],
    "question": [("inplace-saved", "main.py:81", "")],
    "ranks": [("no-grad-fn", "train.py:9", ""), ("other", "api.py:269", "")],
    "rich": [("inplace-saved", "mod.py:6", "")],
    "spawn": [("inplace-saved", "mod.py:6", ""), ("other", "spawn.py:6", "")],
    "syntax": [("other", "a.py:3", "")],
    "warnings": [
        ("nan-grad", "a.py:5", "a.py:3"),
        ("grad-none-nonleaf", "train.py:12", ""),
        ("optimizer-misuse", "lr_scheduler.py:131", ""),
    ],
    "windows": [("freed-graph", "net.py:21", "")],
}


def paste(name: str) -> str:
    return (HERE / "pastes" / f"{name}.txt").read_text(encoding="utf-8")


def spot(frame: Frame | None) -> str:
    return f"{PureWindowsPath(frame.file).name}:{frame.line}" if frame is not None else ""


def test_every_kept_paste_is_tested() -> None:
    assert {path.stem for path in (HERE / "pastes").glob("*.txt")} == set(PASTES)


@pytest.mark.parametrize("name", PASTES)
def test_errors_and_lines_of_a_paste(name: str) -> None:
    meanings = why(paste(name)).meanings
    assert [(one.kind, spot(one.surfaced), spot(one.witness)) for one in meanings] == PASTES[name]


def test_sources_are_shown_as_they_stand() -> None:
    texts = {
        "pytest-long": "loss.backward()",
        "rich": "loss.backward()",
        "ipython-7": "b.sum().backward()",
        "warnings": "y.sum().backward()",
        "loguru": "loss.backward()",
    }
    for name, text in texts.items():
        surfaced = why(paste(name)).meanings[0].surfaced
        assert surfaced is not None
        assert surfaced.text == text, name


def test_the_op_that_anomaly_mode_names() -> None:
    meaning = why(paste("anomaly")).meanings[0]
    assert meaning.op == "ExpBackward0"
    assert meaning.witness is not None
    assert meaning.witness.text == "b = a.exp()"
    assert not any("set_detect_anomaly" in one for one in meaning.tries)
    assert any("set_detect_anomaly" in one for one in only(MODIFIED).tries)


def test_chained_errors_say_how_they_hang_together() -> None:
    first, second = why(paste("chained")).meanings
    assert (first.link, second.link) == ("", "cause")


def test_the_same_error_of_several_ranks_is_told_once() -> None:
    first = why(paste("ranks")).meanings[0]
    assert (first.ranks, first.alike) == (("0", "1"), 2)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("anomaly", "autograd-tutor explain /home/ann/net/anom.py"),
        ("pytest-short", "autograd-tutor explain -m pytest test_it.py"),
        ("windows", 'autograd-tutor explain "C:\\Users\\me\\new project\\train.py"'),
        ("colours", ""),
    ],
)
def test_the_command_that_would_tell_more(name: str, command: str) -> None:
    assert why(paste(name)).meanings[0].command == command


def test_other_lines_of_the_traceback_move_the_likely_kind_to_the_front() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ann/a.py", line 3, in <module>\n'
        "    y.sum().backward()\n"
        '  File "/opt/env/lib/python3.11/site-packages/torch/autograd/graph.py", line 1, in f\n'
        "    return Variable._execution_engine.run_backward(\n"
        '  File "/home/ann/a.py", line 1, in <lambda>\n'
        "    x.register_hook(lambda g: 1 / 0)\n"
        "ZeroDivisionError: division by zero\n"
    )
    assert only(text).kind == "hook-misuse"
    assert only("ZeroDivisionError: division by zero").kind == "other"


def test_words_that_the_program_chose_are_no_story_about_autograd() -> None:
    meaning = only("RuntimeError: the third shelf is empty")
    assert meaning.kind == "other"
    assert [other.kind for other in meaning.others] == ["other", "saved-hooks"]
    assert only("mypkg.errors.ShelfError: empty").kind == "other"


@pytest.mark.parametrize(
    "text",
    ["hello", "", "   \n", "why is my gradient None?", "epoch 1 loss 0.3\nepoch 2 loss 0.2", "42"],
)
def test_prose_is_not_recognised(text: str) -> None:
    answer = why(text)
    assert not answer.recognised
    assert answer.hint


def test_an_error_that_is_only_mentioned_is_asked_for() -> None:
    assert "begins with RuntimeError:" in why("I get a RuntimeError here").hint
    answer = why(paste("no-last-line"))
    assert "ends before its last line" in answer.hint
    assert [frame.line for frame in answer.frames] == [81]


# --- any text at all --------------------------------------------------------------------

ROWS = st.sampled_from(
    [
        *TRACEBACK.splitlines(),
        *(row for name in PASTES for row in paste(name).splitlines()[:12]),
        "",
        "    ^^^^",
        "E   ",
        ">",
        "[W x.cpp:1] Warning: ",
        "  what():  ",
        "During handling of the above exception, another exception occurred:",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(ROWS, st.text(max_size=40)), max_size=25).map("\n".join))
def test_any_text_gets_an_answer(text: str) -> None:
    answer = why(text)
    assert answer.recognised != bool(answer.hint)
    for one in answer.meanings:
        assert one.kind in BY_ID
        assert one.title
        assert "{" not in one.title


def test_a_long_log_is_read_quickly() -> None:
    log = "".join(f"2024-05-01 12:00:00 step {i} loss {1 / (i + 1):.4f}\n" for i in range(20_000))
    start = time.perf_counter()
    answer = why(log + TRACEBACK)
    assert [one.kind for one in answer.meanings] == ["inplace-saved"]
    assert time.perf_counter() - start < 10  # a quarter of a second on an idle machine


# --- the tables -------------------------------------------------------------------------


def test_every_sentence_has_words_and_kinds_that_exist() -> None:
    english = words.catalogue("en")
    ids = {sentence.id for sentence in table()}
    assert len(ids) == len(table())
    for sentence in table():
        assert set(sentence.kinds) <= set(BY_ID), sentence.id
        assert sentence.wordings, sentence.id
        for kind in sentence.kinds if len(sentence.kinds) > 1 else ():
            known = {f"{sentence.id}.tell.{kind}", f"kind:{kind}.text"}
            assert known & set(english), (sentence.id, kind)
    for key in english:
        id = key.split(".")[0]
        assert id in ids or id.startswith("error:") or id.removeprefix("kind:") in BY_ID, key
    for kind in set(BY_ID) - {"known"}:
        assert {f"kind:{kind}.{part}" for part in ("title", "text", "try", "run")} <= set(english)


def test_facts_in_the_words_are_facts_of_the_wordings() -> None:
    derived = {"writes", "dtype", "device", "leaf", "weight", "blind"}
    groups = {
        sentence.id: derived.union(
            *(re.findall(r"\(\?P<(\w+)>", one.text) for one in sentence.wordings)
        )
        for sentence in table()
    }
    for key, text in words.catalogue("en").items():
        id = key.split(".")[0]
        for fact in re.findall(r"\{\??(\w+)\}", text):
            assert fact in groups.get(id, {"name"}), (key, fact)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("in-?place", "IN PLACE"[:2] + "place"),
        ("a b", "ab"),
        ("`x` is", "x is"),
        (r"x\.y (?P<n>\d+) z", "x.y\n 4  z"),
        ("(?:a|b) c", "b\nc"),
    ],
)
def test_layout_counts_for_nothing_in_a_wording(pattern: str, text: str) -> None:
    assert loose(pattern).regex.fullmatch(text)
