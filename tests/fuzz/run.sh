#!/bin/sh
# run.sh TARGET SECONDS DICTIONARY FILE…: libFuzzer for a while, from these files; what it finds stays
# in the current directory.
set -eu
target=$1 seconds=$2 dictionary=$3
shift 3
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
for file; do cp "$file" "$corpus/"; done
"$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=16384 -dict="$dictionary" \
  -print_final_stats=1 "$corpus"
