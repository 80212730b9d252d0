#!/bin/sh
# Every include points to its own directory or to a line above it in src/layers; no internal.h of
# another directory is included. Prints the faults; fails if there are any.
cd "$(dirname "$0")/.." || exit 1
grep -rn '^#include "' src --include='*.[chyl]' | awk -F: '
BEGIN {
    while ((getline line < "src/layers") > 0) { row++; n = split(line, d, " "); for (i = 1; i <= n; i++) layer[d[i]] = row }
}
function home(path,  best, d) { best = ""; for (d in layer) if (index(path, d "/") == 1 && length(d) > length(best)) best = d; return best }
{
    from = home(substr($1, 5)); split($0, q, "\""); to = q[2]
    if (to !~ /\//) next
    target = home(to)
    if (target == "" || from == "") { print $1 ":" $2 ": " to " is in no layer"; bad = 1; next }
    if (target != from && layer[target] >= layer[from]) { print $1 ":" $2 ": " from " must not include " to; bad = 1 }
    if (target != from && to ~ /internal\.h$/) { print $1 ":" $2 ": " to " is private to " target; bad = 1 }
}
END { exit bad }'
