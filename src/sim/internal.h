/* internal.h: the machine while it runs, shared by the files of src/sim.
 *
 * A kernel is compiled once into a flat program of steps; an expression of a step is a run of ops.
 * Each op works on 32 lanes at once, or on one where its value is the same in the whole warp. Warps
 * of a block share the temporaries, since one runs until it stands at a barrier. */
#ifndef TILEC_SIM_INTERNAL_H
#define TILEC_SIM_INTERNAL_H
#include "sim/sim.h"

enum { LANES = 32, WARPS = 32 };
#define FULL_MASK 0xffffffffu

/* A slot holds a value a lane. Slots 0 … are the machine's (constants, launch variables,
 * temporaries), slots -1, -2 … the running warp's (variables, registers). */
typedef int32_t slot_t;
struct lanes {
    union scalar at[LANES];
};
struct known { /* for each byte of a 32-bit word: the lanes in which something wrote it */
    uint32_t byte[4];
};

enum opcode {
    OP_GENERAL,
    OP_CAST,
    OP_SELECT,
    OP_AND,
    OP_OR,
    OP_SPREAD,
    OP_ELEMENT,
    OP_SHUFFLE_XOR,
    OP_SHUFFLE,
    OP_ANY,
    OP_ADD_64,
    OP_SUB_64,
    OP_MUL_64,
    OP_ADD_I32,
    OP_SUB_I32,
    OP_MUL_I32,
    OP_ADD_U32,
    OP_SUB_U32,
    OP_MUL_U32,
    OP_BIT_AND,
    OP_BIT_OR,
    OP_BIT_XOR,
    OP_LOW_BITS,
    OP_SHIFT_DOWN,
    OP_LT,
    OP_LE,
    OP_EQ,
    OP_NE,
    OP_ADD_F32,
    OP_SUB_F32,
    OP_MUL_F32,
    OP_FMA_F32,
    OP_PART_16,
    OP_PART_8,
    OP_F16_TO_F32,
    OP_BF16_TO_F32,
    OP_PACK_F16,
    OP_PACK_BF16,
    OP_PACK_16
};

struct op {
    uint8_t code, type, from, count; /* enum opcode, types of the arguments, their number */
    bool uniform;                    /* one value for the warp, in lane 0 */
    int16_t fn;
    slot_t to, arg[4];
    int32_t amount; /* of shifts and masks; registers of an array */
};

struct step_code { /* ops to run; their results are in slots */
    int32_t first, end;
};

enum step_kind {
    STEP_STATEMENT,
    STEP_IF,
    STEP_ELSE,
    STEP_END_IF,
    STEP_FOR,
    STEP_FOR_TEST,
    STEP_NEXT,
    STEP_WHILE,
    STEP_WHILE_TEST,
    STEP_EXIT
};

struct step {
    enum step_kind kind;
    const struct kstmt *st;
    struct step_code code;
    slot_t value[4]; /* results; which is which depends on the statement */
    bool uniform[4];
    int32_t target;  /* of jumps */
    slot_t variable; /* that the statement sets */
    bool variable_uniform;
    int64_t step;
};
#define NO_SLOT INT32_MAX

struct frame {        /* of an if or a loop at work */
    uint32_t outer;   /* lanes that go on behind it */
    uint32_t other;   /* lanes of the else branch */
    uint32_t skipped; /* lanes that continued */
    bool loop;
};

struct shadow {                          /* of `granule` bytes */
    int32_t block;                       /* that it speaks of; for any other nothing happened yet */
    uint32_t write_clock, read_clock[2]; /* of the warp that did it; 0: none */
    uint32_t read_shuffles[2];           /* and what it had shuffled by then */
    int32_t write_step, read_step[2];
    int32_t pending; /* step of an asynchronous copy on its way, plus 1 */
    uint8_t write_warp, write_lane, read_warp[2], read_lane[2];
    bool atomic; /* the write was one */
};
enum { MANY_LANES = 255 };

struct acquired { /* the first `count` releases of a location */
    int32_t location, count;
};
struct knowledge {
    struct acquired *at;
    int count, room;
};

struct visit { /* of an element of a tensor, by a lane of a block */
    int32_t block, step;
    uint32_t clock;
    uint8_t warp, lane;
    bool wrote;
};
struct trace { /* of an element, over the blocks of a launch */
    struct visit write, read[2];
    int32_t location, launch; /* number plus 1 of its releases, in a launch; 0: none */
    bool atomic;              /* the write was one */
};

struct transfer { /* an asynchronous copy on its way */
    int32_t to, bytes, source_bytes, step, group, lane;
    const uint8_t *from;
};

enum warp_state { WARP_RUNS, WARP_WAITS, WARP_ENDED };
enum { FRAMES = 256 };

struct warp {
    int32_t id, pc;
    enum warp_state state;
    uint32_t active;
    struct lanes *file;
    struct known *known;
    struct frame frames[FRAMES];
    int32_t depth;
    uint32_t clock, seen[WARPS]; /* accesses of warp v before its clock seen[v] are ordered */
    uint32_t shuffles;           /* so far */
    struct knowledge knows;      /* of other blocks */
    VEC(struct transfer) transfers;
    int32_t groups;
    uint8_t *local; /* LOCAL buffers of all lanes */
    int32_t wait_step;
};

struct shadows { /* of a memory that the threads of a block share */
    struct shadow *at;
    struct trace *traces; /* of a tensor, by granule */
    uint8_t *data;
    int32_t granule;
    const char *name; /* of a tensor; NULL: shared memory */
};

struct area {       /* what a buffer's addresses mean */
    uint8_t *data;  /* GLOBAL: element 0 */
    int64_t bytes;  /* legal ones; of a lane's copy for LOCAL */
    int64_t offset; /* SHARED: of the storage; LOCAL: within a lane's memory */
    const struct buffer *buffer;
    int32_t element;
    struct shadows *shadows; /* of a tensor that the function writes; else NULL */
};

struct program {
    VEC(struct op) ops;
    VEC(struct step) steps;
    int32_t machine_slots, warp_slots, local_bytes, granule;
    slot_t *variable;  /* by variable id; NO_SLOT */
    bool *varying;     /* by variable id */
    slot_t *registers; /* by array id: slot of register 0 */
};

struct machine {
    struct module *m;
    struct function_ir *f;
    const struct eval_args *args;
    const struct sim_options *options;
    struct sim_result *out;
    struct arena *arena; /* freed when the run ends */
    const struct kernel *kernel;
    int64_t block[3];
    struct program *program;
    struct lanes *file;
    struct known *known;
    VEC(struct lanes) constants;
    struct warp *warps, *warp; /* the running one */
    int32_t warp_count, step;
    bool *ran;              /* by step */
    struct sim_cost *costs; /* by step, of global and of other memory; NULL: not counted */
    struct area *spaces;    /* by buffer id */
    uint8_t *shared, *shared_known;
    struct shadows shadows;            /* of shared memory */
    int32_t block_number, first_block; /* of all launches; the last one before this launch */
    int64_t grid[3];
    int32_t *order;                   /* of blocks; NULL: ascending */
    VEC(struct location *) locations; /* addresses with releases in this launch */
    int64_t shared_bytes;
    int64_t limit;
    bool failed;
    bool suspect; /* something unwritten was used; a race may turn out to be the reason */
};

static inline union scalar *lanes_of(struct machine *s, slot_t slot) {
    return slot >= 0 ? s->file[slot].at : s->warp->file[~slot].at;
}
static inline struct known *known_of(struct machine *s, slot_t slot) {
    return slot >= 0 ? &s->known[slot] : &s->warp->known[~slot];
}
static inline uint32_t known_lanes(const struct known *k) {
    return k->byte[0] & k->byte[1] & k->byte[2] & k->byte[3];
}
static inline struct known known_in(uint32_t lanes) {
    return (struct known){{lanes, lanes, lanes, lanes}};
}
static inline const struct step *step_at(const struct machine *s, int32_t i) {
    return &s->program->steps.at[i];
}

/* -- fault.c */
void sim_fail(struct machine *s, enum sim_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The other party: `step` of the program. */
void sim_blame(struct machine *s, int32_t step);
int sim_line(const struct machine *s, int32_t step);
int first_lane(uint32_t mask);
/* False, with a fault, if an active lane's value is not known. */
bool sim_needs(struct machine *s, slot_t slot, bool uniform, const char *what);

/* -- program.c, code.c, uniform.c */
struct program *program_of_kernel(struct machine *s, const struct kernel *k);
void uniform_find(struct program *p, const struct kernel *k, int32_t vars);
bool uniform_expr(const struct program *p, const struct expr *e);
struct coder {
    struct machine *s;
    struct program *p;
    VEC(slot_t) plain, spread; /* by expression id, of the statement being compiled */
    VEC(struct expr *) touched;
    int32_t temporaries;
};
/* Appends the ops of e; *uniform says whether only lane 0 of the result holds it. */
slot_t code_value(struct coder *c, const struct expr *e, bool *uniform);
void code_reset(struct coder *c);                              /* between statements */
bool code_memory_bytes(const struct kstmt *s, int32_t *bytes); /* of an access of shared memory */

/* -- ops.c */
void ops_run(struct machine *s, struct step_code code);
uint32_t half_of_float(float v); /* nearest even */

/* -- warp.c */
void warp_run(struct machine *s, struct warp *w);
void warp_assign(struct machine *s, slot_t to, bool uniform, slot_t from, bool from_uniform);

/* -- memory.c */
/* `bytes` bytes at index `index` of the address' buffer, for `lane`; NULL after a fault. */
uint8_t *memory_at(struct machine *s, const struct address *a, int64_t index, int32_t bytes,
                   int lane);
struct touch { /* bytes [at, at + bytes) of a memory, touched by a lane */
    struct shadows *in;
    int64_t at;
    int32_t bytes;
    int lane;
};
bool shadow_read(struct machine *s, struct touch x);
bool shadow_write(struct machine *s, struct touch x, const uint8_t *data);
struct shadow *shadow_at(const struct machine *s, struct shadows *in, int64_t granule);
/* The access as the shadows see it; `in` is NULL where nobody else can interfere. */
struct touch touch_of(struct machine *s, const struct address *a, const uint8_t *at, int32_t bytes,
                      int lane);
void memory_load(struct machine *s, const struct step *p);
void memory_store(struct machine *s, const struct step *p);
void memory_atomic(struct machine *s, const struct step *p);
struct request { /* the addresses of one instruction's lanes, for the counters */
    int64_t at[LANES];
    uint32_t lanes;
    int32_t bytes;
};
/* counters.c: a request of the running statement. */
void request_count(struct machine *s, const struct request *r, const struct buffer *b);
void costs_begin(struct machine *s);
void costs_end(struct machine *s); /* of the kernel; adds to the result */

/* -- blocks.c */
/* An access of element i of a watched tensor: false, with a fault, if another block's is not
 * ordered before it. `equal`: the write changes nothing. */
bool blocks_read(struct machine *s, const struct touch *x, int64_t i);
bool blocks_write(struct machine *s, const struct touch *x, int64_t i, bool atomic, bool equal);
void blocks_atomic(struct machine *s, const struct touch *x, enum memory_order order);
void knowledge_join(struct machine *s, struct knowledge *to, const struct knowledge *from);

/* -- sim.c */
void block_coordinates(const struct machine *s, int32_t number, int64_t *at);

/* -- async.c */
void async_copy(struct machine *s, const struct step *p);
void async_commit(struct machine *s);
void async_wait(struct machine *s, int32_t groups);
void async_end(struct machine *s);

/* -- matrix.c, mma.c */
void matrix_run(struct machine *s, const struct step *p);
void mma_run(struct machine *s, const struct step *p);

/* The register slots of an operand: first register. False after a fault. */
bool operand_slot(struct machine *s, const struct operand *o, slot_t index, int32_t count,
                  slot_t *first);

#endif
