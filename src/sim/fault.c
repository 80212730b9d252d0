/* fault.c: the first thing that went wrong, with the lines of both parties. */
#include "sim/internal.h"
#include <stdarg.h>
#include <stdio.h>

const char *sim_kind_name(enum sim_kind k) {
    static const char *const names[SIM_KINDS] = {
        "fine",       "race",     "in-flight", "unwritten", "out-of-bounds", "misaligned",
        "divergence", "deadlock", "range",     "assert",    "steps",         "unsupported"};
    return names[k];
}

int first_lane(uint32_t mask) { return mask ? __builtin_ctz(mask) : 0; }

int sim_line(const struct machine *s, int32_t step) {
    if (step < 0 || !s->program || step >= s->program->steps.count) return 0;
    const struct kstmt *st = step_at(s, step)->st;
    if (!st || !st->span.end || !s->m->source) return 0;
    return source_position(s->m->source, st->span.begin).line;
}

void sim_blame(struct machine *s, int32_t step) {
    if (step >= 0 && step < s->program->steps.count && step_at(s, step)->st)
        s->out->fault.other = step_at(s, step)->st->span;
}

void sim_fail(struct machine *s, enum sim_kind kind, int lane, const char *format, ...) {
    char message[512];
    va_list arguments;
    if (s->failed) return;
    s->failed = true;
    if (s->suspect && kind != SIM_RACE && kind != SIM_IN_FLIGHT) return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct sim_fault *f = &s->out->fault;
    f->kind = kind;
    f->other = (struct span){0, 0};
    f->kernel = s->kernel;
    f->thread = lane < 0 || lane >= LANES || !s->warp ? -1 : s->warp->id * LANES + lane;
    for (int i = 0; i < 3; i++) f->block[i] = s->block[i];
    if (s->program && s->step >= 0 && step_at(s, s->step)->st)
        f->at = step_at(s, s->step)->st->span;
    f->message = arena_printf(s->m->arena, "%s", message);
}

bool sim_needs(struct machine *s, slot_t slot, bool uniform, const char *what) {
    uint32_t known = known_lanes(known_of(s, slot));
    if (uniform) known = known & 1 ? FULL_MASK : 0;
    uint32_t missing = s->warp->active & ~known;
    if (!missing) return true;
    sim_fail(s, SIM_UNWRITTEN, first_lane(missing), "%s depends on storage that nothing wrote",
             what);
    return false;
}
