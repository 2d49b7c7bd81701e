"""Requests of hipscope's own that show what a profile knows: kernels, machine code, explanations, history, pages.

Takes what the session knows, gives a JSON object; a command of the same name opens it for clients that draw nothing.
"""
