"""Results of fake sessions, and runs of them."""

from collections.abc import Sequence

from fakes import runs
from fakes.session import FakeSession, Watcher
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.plan import plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BenchTest
from isthmus.measure.run.model import Result, Run

ROOMY = Limits(device_bytes=1 << 30, host_bytes=1 << 30)


def results_of(
    tests: Sequence[BenchTest], session: FakeSession | None = None, *, demand: Demand | None = None
) -> list[Result]:
    plan = plan_points(tests, demand or Demand(limits=ROOMY))
    settings = RunSettings(budget_s=1.0)
    return run_points(session or FakeSession(), plan.points, settings, Watcher()).results


def run_of(results: list[Result]) -> Run:
    return runs.run().model_copy(update={"results": results})
