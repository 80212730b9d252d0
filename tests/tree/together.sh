#!/bin/sh
# Architectures that share passes get what each gets by itself: --explain makes them go alone.
# usage: together.sh TILEC
tilec=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
same() { # file options
    for way in together alone; do
        explain=; [ $way = together ] || explain=--explain=all
        mkdir -p "$work/$way"
        "$tilec" -w $explain -o "$work/$way/out.cu" "$@" 2>/dev/null || { echo "$*: fails"; status=1; }
    done
    cmp "$work/together/out.cu" "$work/alone/out.cu" || { echo "$*"; status=1; }
}
for example in "$top"/examples/*.tile; do same "$example" --arch=all; done
seeds=$top/tests/seeds
same "$seeds/vector_add.tile" --arch=all -DN=100000
same "$seeds/softmax.tile" --arch=all -DM=512 -DN=1000
same "$seeds/rms_norm_silu.tile" --arch=all -DM=512 -DC=512
same "$seeds/matmul.tile" --arch=all -DM=512 -DN=512 -DK=512
same "$seeds/matmul.tile" --arch=sm_80,sm_89,sm_90a -DM=4096 -DN=4096 -DK=128 -Dblock_M=128 -Dblock_N=256 -Dthreads=256
same "$seeds/matmul.tile" --arch=sm_89,sm_90a -DM=512 -DN=512 -DK=512 -Ddtype=float8_e4m3
same "$seeds/matmul_bias_gelu.tile" --arch=all -DM=512 -DN=512 -DK=512
same "$seeds/matmul_relu.tile" --arch=all -DM=512 -DN=512 -DK=512 -Dblock_M=128 -Dblock_N=128 -Dblock_K=64
same "$seeds/flash_attn.tile" --arch=all -Dbatch=1 -Dheads=2 -Dseq_len=256 -Ddim=64 -Dis_causal=True
same "$seeds/mla_decode.tile" --arch=sm_80,sm_90a -Dbatch=4 -Dheads=128 -Dkv_len=1000 -Dnum_split=2
exit $status
