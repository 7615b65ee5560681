#!/bin/sh
#SBATCH --job-name=isthmus-fleet
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:15:00
# Measures every GPU of every node of a job, one process on each node, and checks the fleet.
#
#     sbatch --nodes=64 examples/fleet/slurm.sh /shared/folder
#
# Exit codes: those of `isthmus fleet check`, 3 if a node or GPU is dead, wrong or slow.
# ISTHMUS_DEVICES names the GPUs (all by default), ISTHMUS_BENCH the options (--quick by default).
set -eu

FOLDER=${1:?name a folder that all nodes share}
mkdir -p "$FOLDER"
export FOLDER
scontrol show hostnames "$SLURM_JOB_NODELIST" > "$FOLDER/hosts.txt"

# A node that fails leaves fewer files, and doesn't end the others. All that it says is in said.txt.
srun --kill-on-bad-exit=0 sh -c '
    mkdir -p "$FOLDER/$SLURMD_NODENAME"
    cd "$FOLDER/$SLURMD_NODENAME"
    isthmus doctor --format json > doctor.json
    devices=${ISTHMUS_DEVICES:-$(nvidia-smi --query-gpu=index --format=csv,noheader)}
    for number in 1 2 3; do
        for device in $devices; do
            isthmus bench ${ISTHMUS_BENCH:---quick} --device "$device" --no-save \
                --output "gpu$device-$number.json" > /dev/null 2>> said.txt && continue
            code=$?
            echo "$SLURMD_NODENAME: $(grep "^error: " said.txt | tail -n 1)" >&2
        done
    done
    exit ${code:-0}
' || echo "some nodes have failed" >&2

isthmus fleet check "$FOLDER" --hosts "$FOLDER/hosts.txt"
