"""What was profiled and tried of a project, by git commit: a SQLite database in the user's state directory.

Takes plain rows, gives them back; `frame(project)` is a pandas frame. Knows nothing of reports, runs only git.
"""

from hipscope.analysis.history.frames import frame

__all__ = ["frame"]
