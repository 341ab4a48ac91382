"""python -m benchmarks.arena."""

from benchmarks.arena.command import main

if __name__ == "__main__":  # processes that replay load this module too
    main()
