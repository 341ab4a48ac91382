"""`python -m benchmarks.spottune`"""

from benchmarks.spottune.command import main

if __name__ == "__main__":
    main()
