"""``python -m concordant``: the command line, also where its script is not on the path."""

from concordant.cli.__main__ import main

if __name__ == "__main__":
    main()
