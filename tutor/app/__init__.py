"""The Textual app. `run` is its only entrance; the command line imports it late."""

from __future__ import annotations


def run(lesson: str | None = None, file: str | None = None) -> int:
    """Open the app at a lesson ("inplace.version-counter", or "…/step"), at a file, or resuming.

    Returns the exit status: 0, or 3 where the app itself failed.
    """
    import gc

    # Collections while modules are loaded find nothing; `TutorApp` turns them on again.
    gc.disable()
    from pathlib import Path

    from tutor.app import settings
    from tutor.app.app import TutorApp
    from tutor.app.real import RealServices

    path = settings.settings_file()
    chosen, notice = settings.load(path)
    services = RealServices()
    app = TutorApp(
        services,
        lesson,
        Path(file).absolute() if file else None,
        settings=chosen,
        settings_file=path,
        notice=notice,
    )
    try:
        app.run()
    finally:
        services.close()
    return app.return_code or 0
