"""What limits a kernel, or a whole run: one table of classes with their thresholds, and the rule that reads it.

Takes measures by name, gives a class with the numbers that decided. Knows no Profile; the table is the only file read.
"""
