"""
A cluster of Dask on nodes of Slurm, for `isthmus fleet bench --scheduler` and `sim sweep`.

    pip install ".[scale]" dask-jobqueue    # in a clone
    python examples/fleet/dask_slurm.py --nodes 64 --partition gpu

The scheduler runs here, and each job of Slurm is a worker that has a node to itself. The worker
never opens a GPU: the measurement does, in a process of its own. Ctrl-C ends the jobs.

The traffic is encrypted with the certificates of Dask's configuration, which `certificates.sh`
beside this file makes. This machine needs those of the scheduler and of the client, and each node
that of the worker. A home folder that all of them share is enough. What isn't said
here, like the partition or the account, comes from `jobqueue.slurm` of the same configuration.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import time

from distributed import Security

try:
    from dask_jobqueue import SLURMCluster
except ImportError as cause:
    sys.exit(f"{cause.name} is not installed: pip install dask-jobqueue")


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Start a cluster of Dask on nodes of Slurm.")
    parser.add_argument("--nodes", type=int, default=1, help="how many (1)")
    parser.add_argument("--partition", help="whose nodes (Slurm's default)")
    parser.add_argument("--time", help="until Slurm ends a job (00:30:00)")
    parser.add_argument("--interface", help="the network's, such as ib0 (the default route's)")
    parser.add_argument(
        "--threads", type=int, default=1, help="of a node: points of a sweep at a time (1)"
    )
    parser.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="one more for sbatch, such as --sbatch=--gres=gpu:8; may be repeated",
    )
    found = parser.parse_args()
    if found.nodes < 1 or found.threads < 1:
        parser.error("--nodes and --threads are at least 1")
    return found


def check_certificates() -> None:
    """Refuse to listen where anybody could run programs on all nodes."""
    found = Security()
    needed = (found.tls_ca_file, found.tls_scheduler_cert, found.tls_client_cert)
    if not (found.require_encryption and all(needed)):
        sys.exit(
            "Dask's configuration has no certificates, or allows unencrypted traffic: "
            "`sh examples/fleet/certificates.sh FOLDER` makes them, and prints the lines of "
            "~/.config/dask"
        )


def start(wanted: argparse.Namespace) -> SLURMCluster:
    """Start the scheduler, and no job yet."""
    return SLURMCluster(
        # TLS as in Dask's configuration, here and on the nodes. With an object of Security,
        # dask-jobqueue 0.9 writes `--tls-key None` where the key is in the certificate's file.
        protocol="tls://",
        interface=wanted.interface,
        # Nobody needs the pages of the dashboard, which anybody could open.
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        queue=wanted.partition,
        walltime=wanted.time,
        # One worker for each job, and a whole node for it: all of its CPUs, memory and GPUs.
        processes=1,
        cores=wanted.threads,
        memory="1GiB",  # dask-jobqueue wants a number; the options below take its place
        job_mem="0",
        job_directives_skip=["--cpus-per-task"],
        job_extra_directives=["--nodes=1", "--exclusive", *wanted.sbatch],
        # Workers import no modules from the folder in which this was started.
        job_script_prologue=["export PYTHONSAFEPATH=1"],
        worker_extra_args=[
            *("--memory-limit", "0"),
            *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
        ],
    )


def submit(cluster: SLURMCluster, nodes: int, sbatch: str) -> None:
    """Ask Slurm whether it takes such a job, and submit one for each node."""
    test = subprocess.run(  # noqa: S603 - the user's own sbatch
        [sbatch, "--test-only"],
        input=cluster.job_script(),
        capture_output=True,
        text=True,
        check=False,
    )
    if test.returncode != 0:
        sys.exit(f"Slurm refuses such a job: {test.stderr.strip()}")
    cluster.scale(jobs=nodes)


def stay(cluster: SLURMCluster, nodes: int) -> None:
    """Say how many nodes are there whenever that changes, until Ctrl-C or SIGTERM."""
    before = None
    while True:
        here = len(cluster.scheduler.workers)
        if here != before:
            print(f"{here} of {nodes} nodes are there", flush=True)
            before = here
        time.sleep(0.5)


def main() -> None:
    """Start, say how the cluster is used, and stay."""
    wanted = options()
    check_certificates()
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        sys.exit("there is no sbatch here: run this where jobs of Slurm are submitted")
    # dask-jobqueue has set others.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with start(wanted) as cluster:
            submit(cluster, wanted.nodes, sbatch)
            print(f"scheduler: {cluster.scheduler_address}")
            print(f"use it:    isthmus fleet bench --scheduler {cluster.scheduler_address}")
            print("Ctrl-C ends the jobs", flush=True)
            stay(cluster, wanted.nodes)
    except KeyboardInterrupt:
        print("ended")


if __name__ == "__main__":
    main()
