"""`python -m clfeval` is the same program as `clfeval`."""

from clfeval.cli.app import main

if __name__ == "__main__":
    main()
