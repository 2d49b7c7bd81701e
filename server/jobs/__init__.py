"""Long work in child processes: which runs, what it reports, what it does.

Takes a request, gives progress and a result as JSON lines. Never speaks LSP.
"""
