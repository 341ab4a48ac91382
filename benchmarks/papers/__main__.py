"""`python -m benchmarks.papers`"""

from benchmarks.papers.command import main

if __name__ == "__main__":
    main()
