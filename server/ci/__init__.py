"""The steps of the GitHub action: measure base and head, publish what came of it, propose a verified edit.

`measure` builds and runs code of the repository and sees no token; `publish` has one and runs nothing of the
repository: it takes data of the first, and trusts none of its text.
"""
