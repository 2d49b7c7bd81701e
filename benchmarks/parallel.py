"""Runs of programs side by side, with the results of runs one after the other: shared by benchmarks of the time model.

Takes items and what runs one of them, gives results in the items' order. Each run is a process, so threads start them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The option `--jobs`. Times do not depend on it; what a time limit leaves out may."""
    parser.add_argument("--jobs", type=_positive, default=1, help="so many programs at once share the cores")


def threads_of_each(jobs: int) -> int:
    """Threads of one program when so many run at once."""
    return max(1, (os.cpu_count() or 1) // jobs)


def side_by_side(run: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """Results in the items' order, each when it and those before it are there. What `run` raises is raised here."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(run, items)


def until_late(
    run: Callable[[Item], Result], items: Iterable[Item], group: Callable[[Item], Hashable], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Items with their results, in order; a group ends before the first of its items that raises TimeoutExpired."""
    late: set[Hashable] = set()  # items behind a late one are not begun
    ended: set[Hashable] = set()

    def attempt(item: Item) -> list[Result]:
        if group(item) in late:
            return []
        try:
            return [run(item)]
        except subprocess.TimeoutExpired:
            late.add(group(item))
            return []

    chosen = list(items)
    for item, found in zip(chosen, side_by_side(attempt, chosen, jobs), strict=True):
        if not found:
            ended.add(group(item))
        elif group(item) not in ended:
            yield item, found[0]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
