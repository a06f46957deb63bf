"""``python -m concordant``: the command line, for environments where its script is not on the PATH."""

from concordant.support.processes import leave_working_folder

if __name__ == "__main__":
    leave_working_folder()
    from concordant.cli.__main__ import main

    main()
