"""Signals reach the loop; real processes with real signals are in test_studies.py."""

import os
import signal
import threading

import pytest

from leantune.cli.interrupts import SIGNALS, Interrupts, interruptible


class Loop:
    def __init__(self) -> None:
        self.asked = 0

    def interrupt(self) -> None:
        self.asked += 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_the_loop_and_nothing_else(number: signal.Signals) -> None:
    before, loop = signal.getsignal(number), Loop()
    with interruptible() as interrupts:
        interrupts.ready(loop)
        os.kill(os.getpid(), number)
        assert loop.asked == 1
        interrupts.noticed()
        os.kill(os.getpid(), number)
        assert loop.asked == 2
    assert interrupts.count == 2
    assert signal.getsignal(number) is before


def test_before_there_is_a_loop_ctrl_c_ends_the_command() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), signal.SIGINT)


def test_a_loop_that_has_not_noticed_the_first_is_left_at_the_second() -> None:
    loop, interrupts = Loop(), Interrupts()
    interrupts.ready(loop)
    interrupts.interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupts.interrupt()
    interrupts.interrupt()  # it cleans up: a third does not disturb that
    assert loop.asked == 3


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), interruptible():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_there_are_no_handlers_and_no_error() -> None:
    seen: list[int] = []

    def work() -> None:
        with interruptible() as interrupts:
            seen.append(interrupts.count)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0]
