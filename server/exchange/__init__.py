"""Results in the formats of other tools: SARIF 2.1.0 for findings and defects, JUnit XML for a gate.

Takes the records of reports and the texts they are of, gives text. No analysis, no file of its own.
"""
