"""`python -m benchmarks.lean`"""

from benchmarks.lean.command import main

if __name__ == "__main__":
    main()
