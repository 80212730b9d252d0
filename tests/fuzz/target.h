/* target.h: what a fuzzer calls; libFuzzer's signature, so that its driver fits as well as ours. */
#ifndef TILEC_TESTS_FUZZ_TARGET_H
#define TILEC_TESTS_FUZZ_TARGET_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
