"""Profiles of the editor in the history of their project, and the one that a new one is held against."""
