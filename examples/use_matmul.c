/* use_matmul.c: a C program that calls a generated kernel and checks the result.
 *
 *   tilec --arch=sm_80,sm_90a -o matmul.cu examples/06_matmul.tile
 *   nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -c matmul.cu
 *   gcc -std=c99 -I. -I$CUDA_HOME/include -c examples/use_matmul.c
 *   nvcc matmul.o use_matmul.o -o use_matmul && ./use_matmul
 */
#include "matmul.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 512 };

/* Small integers, which float16 and the sums hold exactly: any error shows. */
static int a_at(int i, int k) { return (i + 3 * k) % 5 - 2; }
static int b_at(int k, int j) { return (2 * k + j) % 3 - 1; }

static tilec_f16 f16_of(int v) {
    static const uint16_t small[] = {0xc000, 0xbc00, 0x0000, 0x3c00, 0x4000}; /* -2 … 2 */
    tilec_f16 h;
    h.bits = small[v + 2];
    return h;
}

static double double_of(tilec_f16 h) {
    int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
    double v = exponent ? 1 + fraction / 1024.0 : fraction / 1024.0;
    for (int e = exponent ? exponent : 1; e < 15; e++) v /= 2;
    for (int e = exponent; e > 15; e--) v *= 2;
    return h.bits >> 15 ? -v : v;
}

static void need(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString((cudaError_t)status));
    exit(1);
}

static tilec_f16 *on_device(const tilec_f16 *host) {
    size_t bytes = sizeof *host * SIZE * SIZE;
    void *p;
    need(cudaMalloc(&p, bytes), "cudaMalloc");
    need(cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
    return p;
}

static int wrong_elements(const tilec_f16 *c) {
    int wrong = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            int want = 0;
            for (int k = 0; k < SIZE; k++) want += a_at(i, k) * b_at(k, j);
            wrong += double_of(c[i * SIZE + j]) != want;
        }
    return wrong;
}

int main(void) {
    static tilec_f16 a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i * SIZE + j] = f16_of(a_at(i, j));
            b[i * SIZE + j] = f16_of(b_at(i, j));
        }
    tilec_f16 *A = on_device(a), *B = on_device(b), *C = on_device(c);

    int status = matmul_512(A, B, C, NULL); /* NULL: the default stream */
    if (status) {
        matmul_512_args args = {A, B, C};
        char text[256];
        matmul_512_explain(status, &args, text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    need(cudaMemcpy(c, C, sizeof c, cudaMemcpyDeviceToHost), "copy from the device");
    int wrong = wrong_elements(c);
    printf("%d of %d elements are wrong\n", wrong, SIZE * SIZE);
    return wrong != 0;
}
