#!/bin/sh
# For Slurm's Prolog: a node whose first GPU is slower than its baseline is drained.
#
# Make the baseline once, while the node is known to be good:
#
#     isthmus bench bandwidth --quick --repeat 3 --output /var/lib/isthmus/baseline.json
#
# Any exit code but 0 drains the node: 3 if a family of results is slower or lost, 4 without a GPU,
# and any other if this couldn't be found out. `sinfo -R` shows why. Slurm passes neither a PATH nor
# other variables of slurmd to a prolog, so names stand here.
set -eu

ISTHMUS=${ISTHMUS:-/opt/isthmus/bin/isthmus}
BASELINE=${ISTHMUS_BASELINE:-/var/lib/isthmus/baseline.json}

code=0
said=$("$ISTHMUS" bench bandwidth ${ISTHMUS_BENCH:---quick --budget 10} --no-save \
    --compare "$BASELINE" --tolerance 10% 2>&1) || code=$?
[ "$code" = 0 ] && exit 0

# An error's own line, or the last one, which counts what is slower. It also goes to slurmd's log.
why=$(printf '%s\n' "$said" | sed -n 's/^error: //p' | tail -n 1)
why=${why:-$(printf '%s\n' "$said" | tail -n 1)}
echo "$why"
if [ -n "${SLURMD_NODENAME:-}" ]; then
    scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="isthmus: $why" || true
fi
exit "$code"
