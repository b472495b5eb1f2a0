"""The registry: built-ins without any installed metadata, strangers by entry point, and broken ones harmless."""

from importlib.metadata import EntryPoint

import pytest

from kernels import catalog
from kernels.catalog import AttentionKernel, AttentionOutput, Unsupported

BUILT_IN = ("flash", "naive", "xla", "jax-flash", "jax-splash")


class Mine:
    name, title, exact, is_pallas = "mine", "Mine", False, False

    def refusal(self, problem, blocks, platform):
        return ""

    def build(self, problem, blocks, *, interpret=None):
        return lambda q, k, v: AttentionOutput(q, None)


class Misnamed(Mine):
    name = "other"


GOOD, MISNAMED, UNFINISHED = Mine(), Misnamed(), object()


@pytest.fixture
def registered(monkeypatch):
    """``f(name=value, ...)``: what ``entry_points`` is to find."""

    def register(**values):
        found = [EntryPoint(name, value, catalog.GROUP) for name, value in values.items()]
        monkeypatch.setattr(catalog, "entry_points", lambda group: found)

    monkeypatch.setitem(__import__("sys").modules, "strangers", __import__("types").SimpleNamespace(**globals()))
    return register


def test_built_ins_need_no_installed_metadata(registered):
    registered()
    assert catalog.names() == BUILT_IN
    assert catalog.problems() == ()
    for name, kernel in zip(BUILT_IN, catalog.all_kernels(), strict=True):
        assert isinstance(kernel, AttentionKernel)
        assert kernel.name == name
        assert kernel.exact
        assert catalog.get(name) is kernel
    assert [k.is_pallas for k in catalog.all_kernels()] == [True, False, False, True, True]


def test_an_entry_point_adds_a_kernel(registered):
    registered(mine="strangers:GOOD", flash="kernels.flash:FLASH")
    assert catalog.names() == (*BUILT_IN, "mine")
    assert catalog.get("mine") is GOOD
    assert catalog.problems() == ()


def test_broken_entry_points_are_reported_and_harm_no_other(registered):
    registered(
        absent="no_such_module:X", naive="strangers:GOOD", nothing="strangers:UNFINISHED", mine="strangers:MISNAMED"
    )
    assert catalog.names() == BUILT_IN
    reports = catalog.problems()
    assert [report.split()[1] for report in reports] == ["absent", "mine", "naive", "nothing"]
    for report, word in zip(reports, ["no_such_module", "'other'", "already there", "AttentionKernel"], strict=True):
        assert word in report
    assert catalog.get("naive").title.startswith("Naive")


def test_an_unknown_name_is_refused_with_those_there_are(registered):
    registered()
    with pytest.raises(Unsupported, match="no kernel is called 'flush'; there are flash, naive"):
        catalog.get("flush")
