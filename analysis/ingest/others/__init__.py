"""One module per format of other tools: rocprof 1 and 2, rocmProfileData, PyTorch's profiler, Nsight.

Takes a file whose format was recognised, gives a `Recorded`, as the readers of rocprofv3's own formats do. A file that
says nothing of a GPU is refused with what is in it.
"""
