"""`python -m hipscope.server`: the same command line as `hipscope`."""

from hipscope.server.cli.main import main

if __name__ == "__main__":
    main()
