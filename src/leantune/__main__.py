"""`python -m leantune` is the `leantune` command."""

from leantune.cli.app import main

if __name__ == "__main__":
    main()
