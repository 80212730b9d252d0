#!/bin/sh
# What runs beside each other shares nothing that changes: the sanitizer for threads watches.
# usage: threads.sh
command -v meson >/dev/null && command -v ninja >/dev/null || exit 77
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
meson setup "$work" "$top" -Dtests=false -Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Ddebug=true -Dwerror=false >"$work/log" &&
    ninja -C "$work" >>"$work/log" || { tail -n 30 "$work/log"; exit 1; }
TSAN_OPTIONS=halt_on_error=1 sh "$top/tests/tree/together.sh" "$work/src/driver/tilec"
