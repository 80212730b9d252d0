#!/bin/sh
# Compiles every example for every architecture; with "nvcc" also the outputs, without warnings.
# usage: examples.sh TILEC [nvcc]
tilec=$1
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
if [ "$2" = nvcc ] && ! command -v nvcc >/dev/null; then exit 77; fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
for example in "$examples"/*.tile; do
    name=$(basename "$example" .tile)
    "$tilec" --arch=all -Werror -Wno-perf -o "$work/$name.cu" "$example" || { status=1; continue; }
    [ "$2" = nvcc ] || continue
    nvcc -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -gencode arch=compute_80,code=sm_80 \
        -gencode arch=compute_90a,code=sm_90a -c "$work/$name.cu" -o "$work/$name.o" || status=1
done
if [ "$2" = nvcc ]; then # the program is linked; running it takes a GPU
    cp "$work/06_matmul.h" "$work/matmul.h"
    toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
    gcc -std=c99 -Wall -Wextra -Werror -I"$work" -I"$toolkit/include" -c "$examples/use_matmul.c" \
        -o "$work/use_matmul.o" && nvcc "$work/06_matmul.o" "$work/use_matmul.o" -o "$work/use" || status=1
fi
exit $status
