#!/bin/sh
# `make demo`: the job beside this file, from the first trial to the report. Everything it writes goes to demo-out/, and a
# second run starts afresh there. Kill it at any time and type `leantune run demo-out/job.yaml`: it goes on.
set -eu
here=$(dirname "$0")
out=${1:-demo-out}
rm -rf "$out"
mkdir -p "$out"
cp "$here"/job.yaml "$here"/train.py "$here"/images.py "$out"/
python "$out"/images.py "$out"/data >/dev/null

leantune run "$out"/job.yaml
echo
leantune verify "$out"/job.yaml
echo
leantune report "$out"/job.yaml -o "$out"/report.html
