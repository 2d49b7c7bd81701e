"""The rewriter that asks a language model: prompt, request, judgement, and what the model believed.

Importing this package, or any module of it, imports no LLM library and opens no connection.
"""
