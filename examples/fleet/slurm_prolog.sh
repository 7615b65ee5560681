#!/bin/sh
# For Slurm's Prolog: a node whose first GPU is slower than its baseline is drained.
#
# Make the baseline once, while the node is known to be good:
#
#     isthmus bench bandwidth --quick --repeat 3 --output /var/lib/isthmus/baseline.json
#
# Any exit code but 0 drains the node: 3 if a family of results is slower or lost, 4 without a GPU.
set -eu

BASELINE=${ISTHMUS_BASELINE:-/var/lib/isthmus/baseline.json}
isthmus bench bandwidth ${ISTHMUS_BENCH:---quick --budget 10} --no-save \
    --compare "$BASELINE" --tolerance 10% > /dev/null
