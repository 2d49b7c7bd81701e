"""Results as one HTML file each: no network, light and dark, by keyboard, printable, a table beside each picture.

Takes the records of reports and the texts they are of, gives the page. What comes from programs (names, source text,
output) is escaped by the templates; nothing here marks it as safe.
"""
