"""Many programs, inputs, devices and rules as tasks on dask.distributed.

Takes a specification, gives rows in its order. Scheduling, retries and lost workers are dask's; a task and its key are
ours.
"""
