"""Rows that are as high as they need to be: answers, the setup, the sentence under the code."""

from __future__ import annotations

from tutor.app.widgets.rows import RowsView


class AnswersView(RowsView):
    """Rows as high as they need to be."""

    def fit_height(self) -> None:
        self.styles.height = max(1, len(self.rows)) + self.gutter.height
