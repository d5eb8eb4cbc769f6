/* Random calls of every function of the C ABI. Handles are valid, released, of the wrong kind or arbitrary numbers; pointers may
 * be null or misaligned, codes and counts invalid, and views have any shape.
 *
 *     random_misuse [STEPS [SEED [THREADS]]]
 *
 * Threads share all handles, so that a thread releases objects while others use them. Every call must return a status other than
 * BL_INTERNAL; a failed call must not write its result and must set a message; nothing may be written outside an output.
 * Sanitizers and valgrind check for other errors.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broadloom.h"

enum { ELEMENTS = 2048, GUARD = 64, VALUES = 16 };

enum kind { BUILDER, VALUE, KERNEL, CALL, HOST, LIBRARY, FLAG, KINDS };

/* The number of handles of each kind. There are few builders and many values, so that a value is often used with its builder. */
static const size_t places[KINDS] = {2, 24, 8, 8, 3, 2, 4};
static uint64_t pool[KINDS][24];
static int failures;
static uint64_t calls_made, successes;

struct random {
    uint64_t state;
};

static uint64_t next(struct random *r) {
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(struct random *r, size_t n) { return (size_t)(next(r) % n); }

static void complain(const char *what, bl_status status) {
    printf("%s: %s: %s\n", what, bl_status_name(status), bl_last_error());
    __atomic_store_n(&failures, 1, __ATOMIC_RELAXED);
}

/* Checks the properties that every failed call must have. */
static bl_status seen(const char *what, bl_status status) {
    __atomic_fetch_add(&calls_made, 1, __ATOMIC_RELAXED);
    if (status == BL_OK) __atomic_fetch_add(&successes, 1, __ATOMIC_RELAXED);
    if (status == BL_INTERNAL || status < 0 || status > BL_DERIVATIVE) complain(what, status);
    if (status != BL_OK && bl_last_error()[0] == '\0') complain("a failed call has a message", status);
    return status;
}

/* Returns a handle from the pool, usually of this kind, or 0, or an arbitrary number. */
static uint64_t handle(struct random *r, enum kind kind) {
    const enum kind other = (enum kind)below(r, KINDS);
    uint64_t own = __atomic_load_n(&pool[kind][below(r, places[kind])], __ATOMIC_RELAXED);
    switch (below(r, 40)) {
    case 0: return 0;
    case 1: return next(r);
    case 2: return own ^ (1u << below(r, 8));
    case 3: return __atomic_load_n(&pool[other][below(r, places[other])], __ATOMIC_RELAXED);
    default: return own;
    }
}

static bl_status release(enum kind kind, uint64_t id) {
    switch (kind) {
    case BUILDER: return bl_builder_release((bl_builder){id});
    case KERNEL: return bl_kernel_release((bl_kernel){id});
    case CALL: return bl_call_release((bl_call){id});
    case HOST: return bl_host_release((bl_host){id});
    case LIBRARY: return bl_library_release((bl_library){id});
    case FLAG: return bl_flag_release((bl_flag){id});
    default: return BL_OK; /* a value is released with its builder */
    }
}

/* Puts a handle into the pool. The object that it replaces is released, or stays alive without a handle. */
static void keep(struct random *r, enum kind kind, uint64_t made) {
    uint64_t old = __atomic_exchange_n(&pool[kind][below(r, places[kind])], made, __ATOMIC_RELAXED);
    if (below(r, 16)) (void)release(kind, old);
}

/* A pointer for a result: null, misaligned, or to a mark that only a successful call may overwrite. */
#define MARK 0xa5a5a5a5a5a5a5a5u
#define MAKE(type, kind, call)                                                     \
    do {                                                                     \
        struct { type made; char more[8]; } place = {{MARK}, {0}};           \
        type *to = below(r, 24) ? &place.made : below(r, 2) ? NULL : (type *)(void *)((char *)&place + 1); \
        bl_status status = seen(#call, call);                                \
        if (status == BL_OK && to == &place.made) keep(r, kind, place.made.id);    \
        else if (status == BL_OK) complain("no place for the result", status); \
        else if (to == &place.made && place.made.id != MARK) complain("a result of a failed call", status); \
    } while (0)

static const char *const names[] = {"x", "y", "n", "m", "...", "out", "", "1x", "a b", "\xff", "sqrt", "halve", "return",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
static const char *const functions[] = {"add", "divide", "where", "sqrt", "less", "bitwise_and", "remainder", "fma", "no such", "", "pow"};
static const char *const texts[] = {"x: float32[n]; return x * 2 + 1", "x: int64[n]; y: int64[n]; return out = x / y",
    "x: float64[n, m]; return sum(x, axis=1)", "x: float32[...]; return exp(x)", "x: uint8[4]; return x[::-1]",
    "x: float32[n]; return halve(x)", "x: float16[n]; return a = x, b = -x", "x: float32[n]; return x +", "", "\xff\xfe",
    "def f(a) = a * a", "def f(a) = f(a)", "x: bool[n]; return all(x)", "x: float32[n]; y: float32[m]; return x + y"};
#define ONE_OF(r, list) ((list)[below(r, sizeof(list) / sizeof *(list))])
#define NAME(r) (below(r, 24) ? ONE_OF(r, names) : NULL)
#define CODE(r, n) ((uint32_t)(below(r, 12) ? below(r, n) : next(r)))

static int32_t halve(void *context, size_t elements, const void *const *inputs, void *output) {
    const float *from = inputs[0];
    (void)context;
    for (size_t i = 0; i < elements; i++) ((float *)output)[i] = from[i] / 2;
    return 0;
}

static int32_t refuse(void *context, size_t elements, const void *const *inputs, void *output) {
    (void)context, (void)elements, (void)inputs, (void)output;
    return 7;
}

static void note(void *context, uint64_t done, uint64_t total) {
    if (done > total) complain("progress", BL_OK);
    __atomic_fetch_add((uint64_t *)context, 1, __ATOMIC_RELAXED);
}

static ptrdiff_t axis(struct random *r) {
    static const ptrdiff_t far[] = {PTRDIFF_MIN, PTRDIFF_MAX, 64, -65, 1000};
    return below(r, 8) ? (ptrdiff_t)below(r, 7) - 3 : ONE_OF(r, far);
}

static bl_options options(struct random *r) {
    bl_options made = {.size = sizeof made};
    (void)seen("options", bl_options_init(&made));
    if (!below(r, 12)) made.size = below(r, sizeof made + 1);
    made.executor = CODE(r, 3), made.promotion = CODE(r, 2), made.int_division = CODE(r, 2);
    if (!below(r, 8)) made.vector_width = CODE(r, 3) * 128;
    made.threads = below(r, 4);
    if (!below(r, 8)) made.max_bytes = below(r, 1000);
    if (!below(r, 8)) made.max_nodes = below(r, 6), made.max_depth = below(r, 4);
    if (!below(r, 8)) made.max_rank = below(r, 70);
    made.accuracy = CODE(r, 2), made.contract = CODE(r, 2);
    return made;
}

static bl_control control(struct random *r, uint64_t *calls) {
    bl_control made = {.size = below(r, 24) ? sizeof made : below(r, 64)};
    if (!below(r, 3)) made.cancel.id = handle(r, FLAG);
    if (!below(r, 2)) made.progress = note, made.context = calls;
    return made;
}

static void build(struct random *r) {
    bl_builder b = {handle(r, BUILDER)};
    bl_value values[VALUES] = {{0}};
    for (int i = 0; i < VALUES; i++) values[i].id = handle(r, VALUE);
    const bl_value v = values[0], *several = below(r, 24) ? values : NULL;
    ptrdiff_t axes[8];
    size_t shape[8], count = below(r, 6);
    bl_dim dims[8];
    bl_range ranges[8];
    for (int i = 0; i < 8; i++) {
        axes[i] = axis(r), shape[i] = below(r, 16) ? below(r, 5) : next(r);
        dims[i] = (bl_dim){below(r, 2) ? NAME(r) : NULL, shape[i]};
        ranges[i] = (bl_range){below(r, 3) ? axis(r) : BL_OPEN, below(r, 3) ? axis(r) : BL_OPEN, axis(r)};
    }
    const bl_options made = options(r), *given = below(r, 2) ? &made : NULL;
    switch (below(r, 45)) {
    case 0: MAKE(bl_builder, BUILDER, bl_builder_new(given, to)); break;
    case 1:
    case 2: MAKE(bl_value, VALUE, bl_builder_input(b, NAME(r), CODE(r, 12), below(r, 24) ? dims : NULL, count, to)); break;
    case 3: MAKE(bl_value, VALUE, bl_builder_bool(b, (int32_t)below(r, 3), to)); break;
    case 4: MAKE(bl_value, VALUE, bl_builder_int(b, (int64_t)next(r), to)); break;
    case 5: MAKE(bl_value, VALUE, bl_builder_uint(b, next(r), to)); break;
    case 6: MAKE(bl_value, VALUE, bl_builder_float(b, below(r, 2) ? 0.5 : 1e300 * 1e300, to)); break;
    case 7:
    case 8: MAKE(bl_value, VALUE, bl_builder_apply(b, below(r, 24) ? ONE_OF(r, functions) : NULL, several, count, to)); break;
    case 9: MAKE(bl_value, VALUE, bl_builder_call(b, (bl_host){handle(r, HOST)}, several, count, to)); break;
    case 10: MAKE(bl_value, VALUE, bl_builder_cast(b, v, CODE(r, 12), to)); break;
    case 11: (void)seen("output", bl_builder_output(b, NAME(r), v)); break;
    case 12: MAKE(bl_kernel, KERNEL, bl_builder_compile(b, to)); break;
    case 13: MAKE(bl_value, VALUE, bl_builder_slice(b, v, below(r, 24) ? ranges : NULL, count, to)); break;
    case 14: MAKE(bl_value, VALUE, bl_builder_index_axis(b, v, axis(r), axis(r), to)); break;
    case 15: MAKE(bl_value, VALUE, bl_builder_flip(b, v, axis(r), to)); break;
    case 16: MAKE(bl_value, VALUE, bl_builder_permute(b, v, below(r, 24) ? axes : NULL, count, to)); break;
    case 17: MAKE(bl_value, VALUE, bl_builder_transpose(b, v, to)); break;
    case 18: MAKE(bl_value, VALUE, bl_builder_broadcast_to(b, v, below(r, 24) ? shape : NULL, count, to)); break;
    case 19: MAKE(bl_value, VALUE, bl_builder_reshape(b, v, below(r, 24) ? axes : NULL, count, to)); break;
    case 20: MAKE(bl_value, VALUE, bl_builder_expand_dims(b, v, axis(r), to)); break;
    case 21: MAKE(bl_value, VALUE, bl_builder_reduce_with(b, CODE(r, 20), 0.5, v, below(r, 24) ? axes : NULL, count, (int32_t)below(r, 3), to)); break;
    case 22: MAKE(bl_value, VALUE, bl_builder_scan(b, CODE(r, 2), v, axis(r), (int32_t)below(r, 3), to)); break;
    case 23: {
        bl_value made[VALUES];
        if (seen("begin", bl_builder_loop_begin(b, several, count, below(r, 24) ? made : NULL)) == BL_OK)
            for (size_t i = 0; i < count; i++) keep(r, VALUE, made[i].id);
        break;
    }
    case 24: (void)seen("condition", bl_builder_loop_condition(b, v)); break;
    case 25: {
        bl_value made[VALUES];
        if (seen("end", bl_builder_loop_end(b, several, count, next(r) >> below(r, 64), below(r, 24) ? made : NULL)) == BL_OK)
            for (size_t i = 0; i < count; i++) keep(r, VALUE, made[i].id);
        break;
    }
    case 26: {
        bl_value made[VALUES], elements[VALUES];
        const size_t inputs = below(r, 4);
        if (seen("scan begin", bl_builder_scan_begin(b, several, count, below(r, 24) ? values + 8 : NULL, inputs, axis(r), (uint32_t)below(r, 4), shape[0] % 1000,
                below(r, 24) ? made : NULL, below(r, 24) ? elements : NULL)) == BL_OK) {
            for (size_t i = 0; i < count; i++) keep(r, VALUE, made[i].id);
            for (size_t i = 0; i < inputs; i++) keep(r, VALUE, elements[i].id);
        }
        break;
    }
    case 27: {
        bl_value last[VALUES], made[VALUES];
        const size_t outputs = below(r, 4);
        if (seen("scan end", bl_builder_scan_end(b, several, count, below(r, 24) ? values + 8 : NULL, outputs,
                below(r, 24) ? last : NULL, below(r, 24) ? made : NULL)) == BL_OK) {
            for (size_t i = 0; i < count; i++) keep(r, VALUE, last[i].id);
            for (size_t i = 0; i < outputs; i++) keep(r, VALUE, made[i].id);
        }
        break;
    }
    case 28: MAKE(bl_value, VALUE, bl_builder_key(b, next(r), to)); break;
    case 29: MAKE(bl_value, VALUE, bl_builder_split(b, v, shape[0], to)); break;
    case 30: MAKE(bl_value, VALUE, bl_builder_fold_in(b, v, values[1], to)); break;
    case 31: {
        static const char *const draws[] = {"bits", "normal", "gamma", "integers", "poisson", "choice"};
        MAKE(bl_value, VALUE, bl_builder_draw(b, below(r, 24) ? ONE_OF(r, draws) : NULL, v, several, below(r, 3), below(r, 24) ? shape : NULL, count, CODE(r, 12), to));
        break;
    }
    case 32: MAKE(bl_value, VALUE, bl_builder_take(b, v, values[1], axis(r), to)); break;
    case 33: MAKE(bl_value, VALUE, bl_builder_take_along_axis(b, v, values[1], axis(r), to)); break;
    case 34: MAKE(bl_value, VALUE, bl_builder_gather(b, v, several, count, axis(r), to)); break;
    case 35: MAKE(bl_value, VALUE, bl_builder_concat(b, below(r, 24) ? several : NULL, count, axis(r), to)); break;
    case 36: {
        static const char *const modes[] = {"constant", "edge", "reflect", "symmetric", "wrap", "mirror"};
        MAKE(bl_value, VALUE, bl_builder_pad(b, v, below(r, 24) ? shape : NULL, below(r, 3), below(r, 24) ? ONE_OF(r, modes) : NULL, to));
        break;
    }
    case 37: MAKE(bl_value, VALUE, bl_builder_sliding_window(b, v, shape[0], axis(r), to)); break;
    case 38: MAKE(bl_value, VALUE, bl_builder_sort(b, v, axis(r), below(r, 2), to)); break;
    case 39: MAKE(bl_value, VALUE, bl_builder_topk(b, v, below(r, 4), axis(r), below(r, 2), to)); break;
    case 40: MAKE(bl_value, VALUE, bl_builder_segment(b, CODE(r, 20), v, values[1], below(r, 9), to)); break;
    case 41: MAKE(bl_value, VALUE, bl_builder_scatter(b, CODE(r, 5), v, values[1], values[2], to)); break;
    case 42: MAKE(bl_value, VALUE, bl_builder_nonzero(b, v, below(r, 3), below(r, 9), -1, to)); break;
    case 43: MAKE(bl_value, VALUE, bl_builder_grad(b, v, values[1], to)); break;
    default: MAKE(bl_value, VALUE, bl_builder_vecdot(b, v, values[1], axis(r), to)); break;
    }
}

/* Memory for an operand, with marks before and after it. */
struct memory {
    _Alignas(64) unsigned char bytes[GUARD + ELEMENTS * 8 + GUARD];
};

static void fill(struct memory *m, unsigned char value) {
    memset(m->bytes, 0xa5, sizeof m->bytes);
    memset(m->bytes + GUARD, value, ELEMENTS * 8);
}

static void check(const struct memory *m) {
    for (int i = 0; i < GUARD; i++)
        if (m->bytes[i] != 0xa5 || m->bytes[GUARD + ELEMENTS * 8 + i] != 0xa5) {
            complain("a write outside of an output", BL_OK);
            return;
        }
}

/* Makes a view that is within the memory, or one that must be rejected. */
static bl_view view(struct random *r, struct memory *m, bl_dtype dtype, size_t *shape, ptrdiff_t *strides) {
    bl_view made = {m->bytes + GUARD, shape, NULL, (uint32_t)below(r, 4), dtype};
    size_t elements = 1;
    for (uint32_t i = 0; i < 4; i++) shape[i] = below(r, 5), strides[i] = 0, elements *= i < made.rank ? shape[i] : 1;
    if (below(r, 2)) {
        /* Contiguous in reverse order, beginning with the last element. */
        ptrdiff_t step = -1;
        for (uint32_t i = made.rank; i-- > 0;) strides[i] = step, step *= (ptrdiff_t)(shape[i] ? shape[i] : 1);
        made.strides = strides;
        if (elements) made.data = m->bytes + GUARD + (elements - 1) * (made.dtype < 12 ? bl_dtype_size(made.dtype) : 1);
    }
    switch (below(r, 40)) {
    case 0: made.data = NULL; break;
    case 1: made.data = m->bytes + GUARD + 1; break;
    case 2: made.shape = NULL; break;
    case 3: made.rank = 65; break;
    case 4: shape[0] = (size_t)1 << 62; break;
    case 5: made.strides = strides, strides[0] = PTRDIFF_MAX; break;
    default: break;
    }
    /* One byte further, the last one-byte elements could be in the mark, which is outside the operand's own memory. */
    if (made.data == m->bytes + GUARD + 1 && bl_dtype_size(made.dtype) == 1) made.data = m->bytes + GUARD;
    return made;
}

static void run(struct random *r) {
    struct memory in[3], out[3];
    size_t shapes[6][4];
    ptrdiff_t strides[6][4];
    bl_view inputs[3], outputs[3];
    for (int i = 0; i < 3; i++) {
        fill(&in[i], (unsigned char)below(r, 256)), fill(&out[i], 0);
        const bl_dtype read = below(r, 2) ? BL_DTYPE_FLOAT32 : CODE(r, 12), written = read == BL_DTYPE_FLOAT32 ? read : CODE(r, 12);
        inputs[i] = view(r, &in[i], read, shapes[i], strides[i]), outputs[i] = view(r, &out[i], written, shapes[3 + i], strides[3 + i]);
        /* In half of the cases, operands that kernels accept: vectors of the same length. */
        if (below(r, 2)) inputs[i].rank = outputs[i].rank = 1, shapes[i][0] = shapes[3 + i][0] = 4, inputs[i].strides = outputs[i].strides = NULL,
                         inputs[i].data = in[i].bytes + GUARD, outputs[i].data = out[i].bytes + GUARD, inputs[i].shape = shapes[i], outputs[i].shape = shapes[3 + i];
    }
    uint64_t calls = 0;
    const bl_control watched = control(r, &calls);
    (void)seen("run", bl_kernel_run((bl_kernel){handle(r, KERNEL)}, below(r, 24) ? inputs : NULL, below(r, 4), below(r, 24) ? outputs : NULL, below(r, 4), below(r, 2) ? &watched : NULL));
    for (int i = 0; i < 3; i++) check(&out[i]), check(&in[i]);
}

static void call(struct random *r) {
    /* Inputs have at most five axes of extent at most four, so that they fit the memory. Results may be larger. */
    struct memory in[3], out[3];
    const void *from[3];
    void *to_[3];
    for (int i = 0; i < 3; i++) {
        fill(&in[i], (unsigned char)below(r, 256)), fill(&out[i], 0);
        from[i] = below(r, 30) ? in[i].bytes + GUARD : NULL;
        to_[i] = below(r, 30) ? out[i].bytes + GUARD : NULL;
    }
    bl_call c = {handle(r, CALL)};
    size_t extents[8], rank, length;
    char text[256];
    uint64_t calls = 0;
    const bl_control watched = control(r, &calls);
    /* A call with an operand that is too large for the memory must not run. */
    for (size_t i = 0; i < 3; i++) {
        memset(extents, 0, sizeof extents);
        const bl_status known = seen("output shape", bl_call_output_shape(c, i, extents, 8, &rank));
        if (known == BL_TOO_SMALL) return;
        if (known != BL_OK) continue;
        size_t elements = 1;
        for (size_t k = 0; k < rank; k++) elements *= extents[k];
        if (elements > ELEMENTS) return;
    }
    switch (below(r, 6)) {
    case 0: (void)seen("call run", bl_call_run(c, below(r, 24) ? from : NULL, below(r, 4), below(r, 24) ? to_ : NULL, below(r, 4))); break;
    case 1: (void)seen("call run with", bl_call_run_with(c, from, below(r, 4), to_, below(r, 4), below(r, 2) ? &watched : NULL)); break;
    case 2: (void)seen("call run range", bl_call_run_range(c, below(r, 6), below(r, 6), from, below(r, 4), to_, below(r, 4))); break;
    case 3: (void)seen("call compile", bl_call_compile(c)); break;
    case 4: (void)seen("call explain", bl_call_explain(c, CODE(r, 3), below(r, 8) ? text : NULL, below(r, 8) ? sizeof text : 0, below(r, 8) ? &length : NULL)); break;
    default: (void)seen("call retain", bl_call_retain(c)); break;
    }
    for (int i = 0; i < 3; i++) check(&out[i]), check(&in[i]);
}

static void ask(struct random *r) {
    bl_kernel k = {handle(r, KERNEL)};
    size_t inputs, outputs, length, extent;
    uint32_t kind;
    uint8_t id[32];
    char text[256];
    size_t capacity = below(r, 3) ? sizeof text : below(r, 8);
    bl_operand operand = {.size = below(r, 12) ? sizeof operand : below(r, 64)};
    const bl_extent extents[] = {{NAME(r), below(r, 5)}, {"n", below(r, 5)}, {"m", below(r, 5)}};
    switch (below(r, 9)) {
    case 0: (void)seen("arity", bl_kernel_arity(k, below(r, 24) ? &inputs : NULL, &outputs)); break;
    case 1: (void)seen("operand", bl_kernel_operand(k, CODE(r, 2), below(r, 4), below(r, 24) ? &operand : NULL)); break;
    case 2: (void)seen("operand name", bl_kernel_operand_name(k, CODE(r, 2), below(r, 4), text, capacity, &length)); break;
    case 3: (void)seen("operand dim", bl_kernel_operand_dim(k, CODE(r, 2), below(r, 4), below(r, 4), &kind, &extent, text, capacity, &length)); break;
    case 4: (void)seen("explain", bl_kernel_explain(k, text, capacity, below(r, 24) ? &length : NULL)); break;
    case 5: (void)seen("id", bl_kernel_id(k, below(r, 24) ? id : NULL)); break;
    case 6: (void)seen("kernel retain", bl_kernel_retain(k)); break;
    default: {
        const bl_extent *some = below(r, 4) ? extents + 1 : extents;
        MAKE(bl_call, CALL, bl_kernel_bind(k, below(r, 24) ? some : NULL, below(r, 3), to));
        break;
    }
    }
}

static void make(struct random *r) {
    const char *text = ONE_OF(r, texts);
    size_t length = below(r, 4) ? BL_NUL_TERMINATED : below(r, strlen(text) + 1);
    const bl_options made = options(r), *given = below(r, 2) ? &made : NULL;
    const bl_dtype operands[] = {below(r, 2) ? BL_DTYPE_FLOAT32 : CODE(r, 12), BL_DTYPE_FLOAT32, BL_DTYPE_INT8, BL_DTYPE_BOOL};
    const int fails = below(r, 3) == 0;
    const bl_host_function function = {below(r, 24) ? sizeof function : below(r, 80), NAME(r), below(r, 24) ? operands : NULL,
        below(r, 4) ? 1 : below(r, 5), BL_DTYPE_FLOAT32, 0, below(r, 24) ? (fails || operands[0] != BL_DTYPE_FLOAT32 ? refuse : halve) : NULL, NULL, NULL};
    switch (below(r, 9)) {
    case 0:
    case 1:
    case 2: MAKE(bl_kernel, KERNEL, bl_kernel_parse(below(r, 24) ? text : NULL, length, given, to)); break;
    case 3: MAKE(bl_kernel, KERNEL, bl_kernel_parse_with(text, length, (bl_library){handle(r, LIBRARY)}, given, to)); break;
    case 4: MAKE(bl_library, LIBRARY, bl_library_new(to)); break;
    case 5: (void)seen("register", bl_library_register((bl_library){handle(r, LIBRARY)}, (bl_host){handle(r, HOST)})); break;
    case 6: (void)seen("define", bl_library_define((bl_library){handle(r, LIBRARY)}, text, length)); break;
    case 7: MAKE(bl_host, HOST, bl_host_new(below(r, 24) ? &function : NULL, to)); break;
    default: MAKE(bl_flag, FLAG, bl_flag_new(to)); break;
    }
}

static void drop(struct random *r) {
    const enum kind kind = (enum kind)below(r, KINDS);
    const uint64_t h = handle(r, kind);
    size_t start, end;
    switch (below(r, 8)) {
    case 0:
    case 1: (void)seen("release", release(kind, h)); break;
    case 2: (void)seen("host retain", bl_host_retain((bl_host){handle(r, HOST)})); break;
    case 3: (void)seen("flag raise", bl_flag_raise((bl_flag){handle(r, FLAG)})); break;
    case 4: (void)seen("flag lower", bl_flag_lower((bl_flag){handle(r, FLAG)})); break;
    case 5:
        if (!below(r, 16)) (void)seen("clear caches", bl_clear_caches());
        break;
    case 6: (void)bl_last_error_span(&start, below(r, 4) ? &end : NULL); break;
    default:
        (void)bl_status_name((int32_t)next(r)), (void)bl_dtype_name(CODE(r, 12)), (void)bl_dtype_size(CODE(r, 12));
        break;
    }
}

struct worker {
    size_t steps;
    uint64_t seed;
};

static void *work(void *argument) {
    const struct worker *worker = argument;
    struct random random = {worker->seed}, *r = &random;
    for (size_t i = 0; i < worker->steps; i++) {
        switch (below(r, 16)) {
        case 0:
        case 1: make(r); break;
        case 2:
        case 3: drop(r); break;
        case 4:
        case 5:
        case 6: run(r); break;
        case 7:
        case 8: call(r); break;
        case 9:
        case 10: ask(r); break;
        default: build(r); break;
        }
    }
    return NULL;
}

int main(int count, char **words) {
    const size_t steps = count > 1 ? strtoull(words[1], NULL, 0) : 10000;
    const uint64_t seed = count > 2 ? strtoull(words[2], NULL, 0) : 1;
    const size_t threads = count > 3 ? strtoull(words[3], NULL, 0) : 2;
    enum { MOST = 64 };
    pthread_t running[MOST];
    struct worker workers[MOST];
    const size_t n = threads < 1 ? 1 : threads > MOST ? MOST : threads;
    for (size_t i = 0; i < n; i++) {
        workers[i] = (struct worker){steps / n, seed + i};
        if (pthread_create(&running[i], NULL, work, &workers[i])) return 1;
    }
    for (size_t i = 0; i < n; i++) pthread_join(running[i], NULL);
    printf("%llu random calls, of which %llu succeeded: %s\n", (unsigned long long)calls_made, (unsigned long long)successes,
           failures ? "some went wrong" : "every one was answered by a status");
    return failures != 0;
}
