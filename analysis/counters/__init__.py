"""Metrics from hardware counters: one table per architecture, evaluated over the counters of a kernel or over columns.

Takes counters by rocprofv3's names, the time of the launches that they cover and the device; gives metrics with unit,
meaning and source, or what is missing for them. Never fills in a counter that was not recorded.
"""
