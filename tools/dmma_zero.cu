// Shows on an sm_90 GPU what ptxas of CUDA 13.0 makes of a double-precision product whose sum begins
// at zero in the first turn of a loop: the zero becomes a predicate of DMMA, and rows 8 to 15 are
// wrong. Emitted code adds -0 to the sum, which prevents it (src/emit_cuda/memory.c).
//
//   nvcc -gencode arch=compute_90a,code=sm_90a tools/dmma_zero.cu -o dmma_zero && ./dmma_zero
#include <cstdio>

// C[16, 8] = the sum over s of A[s][16, 4] * B[s][4, 8]
template <bool guarded> __global__ void product(const double *A, const double *B, double *C, int steps)
{
    const int lane = threadIdx.x, row = lane >> 2, column = lane & 3;
    double d[4] = {1, 1, 1, 1};
    #pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        if (s == 0) {
            for (int i = 0; i < 4; ++i) d[i] = 0;
        }
        for (int i = 0; i < 4 && guarded; ++i) d[i] = __dadd_rn(d[i], -0.0);
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(A[s * 64 + row * 4 + column]), "d"(A[s * 64 + (row + 8) * 4 + column]), "d"(B[s * 32 + column * 8 + row]));
    }
    for (int i = 0; i < 4; ++i) C[(row + (i >> 1) * 8) * 8 + column * 2 + (i & 1)] = d[i];
}

template <bool guarded> static int wrong(const double *A, const double *B, double *C, int steps)
{
    int count = 0;
    product<guarded><<<1, 32>>>(A, B, C, steps);
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
    for (int i = 0; i < 128; ++i) {
        double sum = 0;
        for (int s = 0; s < steps; ++s)
            for (int k = 0; k < 4; ++k) sum += A[s * 64 + i / 8 * 4 + k] * B[s * 32 + k * 8 + i % 8];
        count += sum != C[i];
    }
    return count;
}

int main()
{
    const int steps = 5;
    double *A, *B, *C;
    cudaMallocManaged(&A, steps * 64 * sizeof *A);
    cudaMallocManaged(&B, steps * 32 * sizeof *B);
    cudaMallocManaged(&C, 128 * sizeof *C);
    for (int i = 0; i < steps * 64; ++i) A[i] = i * 7 % 17 - 8;
    for (int i = 0; i < steps * 32; ++i) B[i] = i * 5 % 13 - 6;
    printf("of 128 elements wrong: %d as written, %d with -0 added\n", wrong<false>(A, B, C, steps), wrong<true>(A, B, C, steps));
}
