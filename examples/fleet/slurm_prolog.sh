#!/bin/sh
# For Slurm's Prolog: a node is drained if a GPU of the job is slower than its own baseline.
#
# Make the baselines once, while the node is known to be good, one for each GPU:
#
#     for gpu in $(nvidia-smi --query-gpu=index --format=csv,noheader); do
#         isthmus bench bandwidth --quick --repeat 3 --device $gpu --output /var/lib/isthmus/gpu$gpu.json
#     done
#
# Slurm names the GPUs of the job; if it doesn't manage them, all are looked at, one after the other,
# for up to 10 s each. Any exit code but 0 and 5 (can't tell) drains the node: 3 if a family of
# results is slower or a result is lost, 4 without a GPU, and any other if this couldn't be found out. `sinfo -R` shows which GPU, and
# why. Slurm passes neither a PATH nor other variables of slurmd to a prolog, so names stand here.
set -eu

ISTHMUS=${ISTHMUS:-/opt/isthmus/bin/isthmus}
BASELINES=${ISTHMUS_BASELINES:-/var/lib/isthmus}
# A job's own view would hide the other GPUs, and number them anew.
unset CUDA_VISIBLE_DEVICES
devices=${ISTHMUS_DEVICES:-$(echo "${SLURM_JOB_GPUS:-}" | tr ',' ' ')}
devices=${devices:-$(/usr/bin/nvidia-smi --query-gpu=index --format=csv,noheader || echo 0)}

for device in $devices; do
    code=0
    said=$("$ISTHMUS" bench bandwidth ${ISTHMUS_BENCH:---quick --budget 10} --device "$device" \
        --no-save --compare "$BASELINES/gpu$device.json" --tolerance 10% 2>&1) || code=$?
    if [ "$code" = 0 ] || [ "$code" = 5 ]; then continue; fi

    # An error's own line, the verdict's, or the last one. Also for slurmd's log.
    why=$(printf '%s\n' "$said" | sed -n 's/^error: //p' | tail -n 1)
    why=${why:-$(printf '%s\n' "$said" | grep -E '^[^ ].*: (slower|lost); ' | tail -n 1)}
    why="GPU $device: ${why:-$(printf '%s\n' "$said" | tail -n 1)}"
    echo "$why"
    if [ -n "${SLURMD_NODENAME:-}" ]; then
        scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="isthmus: $why" || true
    fi
    exit "$code"
done
