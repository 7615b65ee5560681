"""
Asks `isthmus advise` random questions about this machine, and measures every way that it ranks.

    python benchmarks/advice/questions.py --program build/benchmarks/bin/advice_lives
        [--questions 200] [--max-mib 64] [--seconds 240] [--profile FILE] [--seed 1] [--out FILE]
    python benchmarks/advice/questions.py --replay FILE [--out FILE]

A question is a size from 4 B to --max-mib (equally likely in each power of two), a direction, 1 to
100 uses and a buffer. The program of lives.cpp carries out every way that advice knows for it; the
median of its turns counts. The advised way is right if it takes at most 5 % longer than the fastest
one as measured. The profile is measured first, unless a file is given; copies use the same one.

--replay asks the questions of an earlier result again, from the profile in it, and judges the
answers by the times in it. So a changed model can be tried without the machine.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from isthmus.decide.advice.answer import Advice, advice_on
from isthmus.decide.advice.asking import profile_here
from isthmus.decide.advice.question import Buffer, Direction, Question
from isthmus.decide.advice.ways import Name
from isthmus.decide.profile.model import Profile
from isthmus.decide.profile.store import load_profile, profile_text
from isthmus.ground.json_text import json_text
from isthmus.move.windows.opening import default_windows

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from machine import machine_facts

MIB = 1 << 20
RIGHT = 1.05
# What all uses of a question move at most.
MAX_MOVED = 2 << 30
QUARTERS = 4
PERCENT = 100

Times = Mapping[str, Any]
"""Of one way: seconds of a life (median, quartiles, the same of every other turn), and parts."""


def questions(number: int, max_bytes: int, seed: int) -> list[Question]:
    """Draw questions; the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    found = []
    for _ in range(number):
        size = min(max_bytes, round(2 ** draw.uniform(2, max_bytes.bit_length() - 1)))
        uses = draw.choice([1, 1, 1, 2, 5, 10, 100])
        found.append(
            Question(
                size_bytes=size,
                direction=draw.choice(list(Direction)),
                uses=max(1, min(uses, MAX_MOVED // size)),
                buffer=draw.choice([Buffer.NEW, Buffer.NEW, Buffer.PAGEABLE, Buffer.PINNED]),
            )
        )
    return found


def measured(
    program: Path, profile: Profile, asked: Sequence[Advice], max_bytes: int, seconds: float
) -> list[dict[Name, Times]]:
    """Carry out all ways of all questions; give the times of each."""
    lines = [_line(advice, seconds / len(asked)) for advice in asked]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(profile_text(profile))
        file.flush()
        done = subprocess.run(  # noqa: S603 - the program that the caller names
            [program, str(max_bytes), file.name],
            input="\n".join(lines),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [{Name[key]: _times(one) for key, one in answer.items()} for answer in answers]


def _line(advice: Advice, seconds: float) -> str:
    question = advice.question
    crossings = [question.crossings.get(direction, 0) for direction in ("h2d", "d2h")]
    numbers = [f"{seconds:g}", question.size_bytes, question.uses, question.buffer, *crossings]
    return " ".join([*map(str, numbers), *(way.name.name for way in advice.ways)])


def _times(found: Mapping[str, Any]) -> Times:
    samples = found["samples_s"]
    low, middle, high = statistics.quantiles(samples, n=QUARTERS, method="inclusive")
    return {
        "measured_s": middle,
        "low_s": low,
        "high_s": high,
        "even_turns_s": statistics.median(samples[::2]),
        "odd_turns_s": statistics.median(samples[1::2]),
        "turns": len(samples),
        "lives_a_turn": found["lives_a_turn"],
        **found["parts"],
    }


def judged(advice: Advice, times: Mapping[Name, Times]) -> dict[str, Any]:
    """Compare an advice with what was measured."""
    best = min(times, key=lambda name: times[name]["measured_s"])
    advised = times[advice.best.name]["measured_s"]
    return {
        **{key: value for key, value in asdict(advice.question).items() if value is not None},
        "advised": advice.best.name,
        "fastest": best,
        "times_the_fastest": advised / times[best]["measured_s"],
        "ways": [
            {
                "way": way.name,
                "paths": dict(way.paths),
                "predicted_s": way.cost.seconds,
                **times[way.name],
            }
            for way in advice.ways
        ],
    }


def replayed(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ask the questions of an earlier result again, and judge by its times."""
    profile = Profile.model_validate(document["profile"])
    results = []
    for one in document["results"]:
        fields = {key: one[key] for key in asdict(Question(size_bytes=1)) if key in one}
        fields |= {"direction": Direction(one["direction"]), "buffer": Buffer(one["buffer"])}
        times = {Name(way["way"]): way for way in one["ways"]}
        kept = {
            name: {k: v for k, v in way.items() if k not in {"way", "paths", "predicted_s"}}
            for name, way in times.items()
        }
        results.append(judged(advice_on(Question(**fields), profile), kept))
    return results


def summary_of(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count right answers; and how far the same way is from itself, in every other turn."""
    right = sum(result["times_the_fastest"] <= RIGHT for result in results)
    apart = [
        abs(way["even_turns_s"] / way["odd_turns_s"] - 1)
        for result in results
        for way in result["ways"]
        if way["way"] in {result["advised"], result["fastest"]}
    ]
    return {
        "questions": len(results),
        "within_5_percent": right,
        "share": right / len(results),
        "worst": max(result["times_the_fastest"] for result in results),
        "scatter_median": statistics.median(apart),
        "scatter_95_percent": statistics.quantiles(apart, n=PERCENT)[94],
    }


def print_misses(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the wrong answers, the worst first, with what was predicted and measured."""
    wrong = [result for result in results if result["times_the_fastest"] > RIGHT]
    for result in sorted(wrong, key=lambda one: -float(one["times_the_fastest"])):
        print(
            f"{result['times_the_fastest']:6.2f}  {result['size_bytes']:>10} B "
            f"{result['direction']:<12} x{result['uses']:<4} {result['buffer']}"
        )
        for way in result["ways"]:
            if way["way"] not in {result["advised"], result["fastest"]}:
                continue
            print(
                f"{'advised' if way['way'] == result['advised'] else 'fastest':>14}: "
                f"{way['way']:<36} predicted {way['predicted_s'] * 1e6:9.2f} us, "
                f"measured {way['measured_s'] * 1e6:9.2f} us"
            )


def main() -> None:
    """Ask, measure, and print the share of right answers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--program", type=Path, help="the program of lives.cpp")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--max-mib", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if (options.program is None) == (options.replay is None):
        parser.error("give either --program or --replay")
    document = _again(options.replay) if options.replay else _asked(options)
    print(f"emulated: {document['machine']['emulated']}; {document['summary']}")
    print_misses(document["results"])
    if options.out is not None:
        options.out.write_text(json_text(document), "utf-8")


def _again(file: Path) -> dict[str, Any]:
    document = json.loads(file.read_text("utf-8"))
    results = replayed(document)
    return {**document, "summary": summary_of(results), "results": results}


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    driver = default_windows().driver
    profile = load_profile(options.profile) if options.profile else profile_here(driver, 0)
    max_bytes = options.max_mib * MIB
    asked = [
        advice_on(question, profile)
        for question in questions(options.questions, max_bytes, options.seed)
    ]
    times = measured(options.program, profile, asked, max_bytes, options.seconds)
    results = [judged(advice, found) for advice, found in zip(asked, times, strict=True)]
    return {
        "schema_version": 2,
        "machine": machine_facts(),
        "seed": options.seed,
        "summary": summary_of(results),
        "results": results,
        "profile": json.loads(profile_text(profile)),
    }


if __name__ == "__main__":
    main()
