"""What a shell offers to complete: tests, suites and stored runs."""


def complete_tests(incomplete: str) -> list[tuple[str, str]]:
    """
    Give the tests that a word may become, each with what it measures; of names that commas
    separate, the last one is completed.
    """
    from isthmus.measure.bench.tests.catalogue import TESTS

    before, comma, begun = incomplete.rpartition(",")
    fitting = (test for test in TESTS if test.name.startswith(begun))
    return [(f"{before}{comma}{test.name}", test.about) for test in fitting]


def complete_suites(incomplete: str) -> list[str]:
    """Give the suites that a word may become."""
    from isthmus.measure.bench.tests.catalogue import Suite

    return [suite.value for suite in Suite if suite.value.startswith(incomplete)]


def complete_runs(incomplete: str) -> list[str]:
    """Give the stored runs that a word may become, the latest first."""
    from isthmus.measure.run.reading import LAST, id_of, kept_files

    ids = map(id_of, reversed(kept_files()))
    return [name for name in (LAST, *ids) if name.startswith(incomplete)]


def complete_machines(incomplete: str) -> list[str]:
    """Give the machines that a word may become."""
    from isthmus.decide.advice.machine import machine_names

    return [name for name in machine_names() if name.startswith(incomplete)]
