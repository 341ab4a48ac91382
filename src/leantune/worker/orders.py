"""What a worker and its warden say to each other (`supervision` has the protocol). Standard library only."""

from typing import TypedDict

LONGEST_KILL = 10.0  # seconds after which a process that SIGKILL does not end (waiting for a dead disk) is left alone


class Orders(TypedDict):
    """What to run and on what terms.

    lease, renewed_ago: seconds, None for no lease. cores: to run on, empty for all. vcpus: at most the cores. memory:
    bytes, 0 for any. reports: where to make the named pipe; temporary: the folder to make it in otherwise. held: file
    descriptors of locks, held until all has ended.
    """

    argv: list[str]
    folder: str
    log: str
    log_limit: int
    reports: str
    temporary: str
    time_limit: float | None
    grace: float
    lease: float | None
    renewed_ago: float
    cores: list[int]
    vcpus: float
    memory: int
    held: list[int]


class Exit(TypedDict):
    """How a run ended.

    error: why it could not be started. code: exit code, or minus the signal. why: for what reason we ended it (timeout,
    stop, lease, orphaned, memory, signal), empty where it ended by itself. killed: SIGTERM was not enough. left:
    processes that did not die. tail: the last bytes of output and errors.
    """

    event: str
    error: str
    code: int
    why: str
    killed: bool
    seconds: float
    ended: float
    cpu_seconds: float
    peak_bytes: int
    kernel_oom: bool
    log_cut: int
    log_error: str
    dropped: int
    left: list[int]
    last_line: str
    last_error: str
    tail: str
