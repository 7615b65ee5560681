"""
A worker as a process: it answers questions from standard input on standard output.

    python -P -m isthmus.fleet.answering THREADS

Each is a line of JSON. The first line says who it is; it ends when its input does.
"""

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from isthmus.files.whole import write_all
from isthmus.fleet.worker import introduce
from isthmus.ground.spelling import MOST_SAID, shortened


class _Answers:
    """Writes answers. What else is printed in this process goes to standard error."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def say(self, message: dict[str, object]) -> None:
        with self._lock:
            try:
                write_all(self._descriptor, f"{json.dumps(message)}\n".encode())
            except OSError:
                # Nobody listens any more. What was begun here ends with this process.
                os._exit(1)


def answer(question: dict[str, object]) -> dict[str, object]:
    """Call the function that a question names, and give its text, or that of its error."""
    module, _, function = str(question["function"]).partition(":")
    try:
        return {"answer": str(getattr(import_module(module), function)(question["text"]))}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it crosses as text
        return {"error": shortened(f"{type(error).__name__}: {error}", most=MOST_SAID)}


def answer_text(text: str) -> str:
    """Answer a question that is JSON, in JSON."""
    return json.dumps(answer(json.loads(text)))


def _answer_line(line: bytes, answers: _Answers) -> None:
    question = json.loads(line)
    answers.say({"question": question["question"], **answer(question)})


def main() -> None:
    """Answer until nobody asks any more; 0 threads mean one for each core."""
    num_threads = int(sys.argv[1]) or len(os.sched_getaffinity(0))
    answers = _Answers()
    # Its threads end with this process, and the measurements of each thread with it.
    pool = ThreadPoolExecutor(num_threads)
    answers.say({"introduction": introduce(""), "threads": num_threads})
    for line in sys.stdin.buffer:
        pool.submit(_answer_line, line, answers)
    os._exit(0)


if __name__ == "__main__":
    main()
