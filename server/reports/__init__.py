"""The objects of the command line and of the worker: their records, who writes and who reads them."""
