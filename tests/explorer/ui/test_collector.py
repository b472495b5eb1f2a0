"""Cycles are collected by the window's thread and by no other."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from explorer.ui.collector import Collector


class Node:
    """Part of a cycle."""


def make_cycles(count: int) -> list[weakref.ref]:
    refs = []
    for _ in range(count):
        one, other = Node(), Node()
        one.other, other.other = other, one
        refs.append(weakref.ref(one))
    return refs


@pytest.fixture
def collector(qapp):
    collector = Collector()
    yield collector
    collector.stop()


def test_another_thread_collects_nothing_and_the_timer_does(collector, qtbot):
    found: list[weakref.ref] = []
    thread = threading.Thread(target=lambda: found.extend(make_cycles(5000)))
    thread.start()
    thread.join()
    assert all(ref() is not None for ref in found)
    qtbot.waitUntil(lambda: all(ref() is None for ref in found), timeout=5000)


def test_stopping_gives_collection_back(collector):
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()
