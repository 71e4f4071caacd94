"""The lesson's text: Markdown in a pane that scrolls and can be focused."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.reactive import reactive


class ProsePane(VerticalScroll, can_focus=True):
    """Shows `source`; at a new one it starts at the top, at a longer one it stays in place."""

    DEFAULT_CSS = """
    ProsePane {
        scrollbar-size-vertical: 1;
        & Markdown { padding: 0; margin: 0; background: transparent; }
        & MarkdownBlock { margin: 0 0 1 0; }
        & MarkdownFence { margin: 0 0 1 0; }
        & MarkdownH1, & MarkdownH2, & MarkdownH3 {
            color: $text-primary; background: transparent; text-style: bold;
            margin: 0 0 1 0; padding: 0; border: none; content-align: left middle; width: auto;
        }
        & .code_inline { color: $syn-number; background: transparent; text-style: bold; }
        & .strong { text-style: bold; }
        &:focus { background-tint: $foreground 0%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    source: reactive[str] = reactive("", init=False)

    def watch_source(self, old: str, new: str) -> None:
        self._show(new, grown=bool(old) and new.startswith(old))

    @work(exclusive=True, exit_on_error=False)
    async def _show(self, source: str, grown: bool) -> None:
        # Imported with the first text: the first frame is painted without it.
        from textual.widgets import Markdown

        if not self.query(Markdown):
            await self.mount(Markdown(open_links=False))
        await self.query_one(Markdown).update(source)
        if grown:
            self.scroll_end(animate=False)
        else:
            self.scroll_home(animate=False)
