/* host.h: the functions that rows of host.def name. */
#ifndef TILEC_SEMA_HOST_H
#define TILEC_SEMA_HOST_H
#include "sema/state.h"

#define HOST(name) struct value name(struct sema *s, const struct call *c);
/* host.c */
HOST(host_abs)
HOST(host_all) HOST(host_any) HOST(host_bool) HOST(host_dict) HOST(host_divmod) HOST(host_float)
    HOST(host_int) HOST(host_isinstance) HOST(host_max) HOST(host_min) HOST(host_pow)
        HOST(host_print) HOST(host_range) HOST(host_round) HOST(host_str) HOST(host_next_power_of_2)
    /* host_items.c */
    HOST(host_enumerate) HOST(host_len) HOST(host_list) HOST(host_reversed) HOST(host_sorted)
        HOST(host_sum) HOST(host_tuple) HOST(host_zip) HOST(math_prod)
    /* host_math.c */
    HOST(math_unary) HOST(math_binary) HOST(math_ceil) HOST(math_floor) HOST(math_trunc)
        HOST(math_gcd) HOST(math_lcm) HOST(math_isfinite) HOST(math_isinf) HOST(math_isnan)
            HOST(math_isqrt) HOST(math_log)
    /* signature.c */
    HOST(sign_tensor) HOST(sign_strided) HOST(sign_shared) HOST(sign_fragment) HOST(sign_local)
        HOST(sign_dynamic) HOST(sign_const) HOST(sign_empty) HOST(sign_compile_flags)
            HOST(sign_pass_configs) HOST(sign_dtype)
#undef HOST
                struct value
    host_truncated(struct sema *s, double x, struct span span); /* float to int */

#endif
