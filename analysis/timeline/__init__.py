"""Where the time of a run went: how busy each GPU was, in which gaps it was idle, what the longest path is.

Takes the tables of a Profile, gives numbers and tables. Does no IO, and says nothing of times that were modelled.
"""
