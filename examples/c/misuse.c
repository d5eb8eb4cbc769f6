/* Every wrong call that can be known to be wrong is answered by a status. */
#include <broadloom.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* Notes a status that is not the one that was wanted, or a message without its words. */
static void want(bl_status status, bl_status wanted, const char *words, int line) {
    if (status != wanted) {
        printf("line %d: %s, not %s (%s)\n", line, bl_status_name(status), bl_status_name(wanted), bl_last_error());
        failures++;
    } else if (status != BL_OK && strstr(bl_last_error(), words) == NULL) {
        printf("line %d: \"%s\" lacks \"%s\"\n", line, bl_last_error(), words);
        failures++;
    }
}
#define WANT(status, call, words) want(call, status, words, __LINE__)
#define OK(call) want(call, BL_OK, "", __LINE__)

static const bl_dim N[] = {{"n", 0}};

static bl_kernel sum(void) {
    bl_builder b;
    bl_kernel kernel = {0};
    bl_value x, y, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, N, 1, &x));
    OK(bl_builder_input(b, "y", BL_DTYPE_FLOAT32, N, 1, &y));
    OK(bl_builder_apply(b, "add", (bl_value[]){x, y}, 2, &out));
    OK(bl_builder_output(b, "out", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

static void building(void) {
    bl_builder b, other;
    bl_kernel kernel;
    bl_value x, y, out;
    WANT(BL_NULL, bl_builder_new(NULL, NULL), "the pointer to the builder is null");
    WANT(BL_MISALIGNED, bl_builder_new(NULL, (bl_builder *)(void *)((char *)&b + 1)), "not a multiple of 8");
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_new(NULL, &other));
    WANT(BL_ARGUMENT, bl_builder_compile(b, &kernel), "no output");
    WANT(BL_NULL, bl_builder_input(b, NULL, BL_DTYPE_INT32, N, 1, &x), "the name of the input is null");
    WANT(BL_UTF8, bl_builder_input(b, "\xff", BL_DTYPE_INT32, N, 1, &x), "not UTF-8 from byte 0");
    WANT(BL_DTYPE, bl_builder_input(b, "x", 12, N, 1, &x), "12 is not the code of a dtype");
    WANT(BL_NULL, bl_builder_input(b, "x", BL_DTYPE_INT32, NULL, 1, &x), "extents is null");
    WANT(BL_SHAPE, bl_builder_input(b, "x", BL_DTYPE_INT32, (bl_dim[]){{"2n", 0}}, 1, &x), "2n");
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, N, 1, &x));
    OK(bl_builder_input(other, "y", BL_DTYPE_FLOAT64, (bl_dim[]){{NULL, 3}}, 1, &y));
    WANT(BL_HANDLE, bl_builder_apply(b, "add", (bl_value[]){x, y}, 2, &out), "belongs to another builder");
    WANT(BL_HANDLE, bl_builder_output(b, "y", (bl_value){x.id + 1}), "belongs to another builder");
    WANT(BL_NAME, bl_builder_apply(b, "ad", (bl_value[]){x, x}, 2, &out), "no function `ad`");
    WANT(BL_ARITY, bl_builder_apply(b, "add", &x, 1, &out), "takes 2 values");
    WANT(BL_DTYPE, bl_builder_apply(b, "sqrt", &x, 1, &out), "does not take int32");
    WANT(BL_DTYPE, bl_builder_cast(b, x, 99, &out), "99");
    WANT(BL_SHAPE, bl_builder_permute(b, x, (ptrdiff_t[]){1}, 1, &out), "");
    OK(bl_builder_int(b, 3000000000, &out));
    WANT(BL_LITERAL, bl_builder_apply(b, "add", (bl_value[]){x, out}, 2, &out), "3000000000");
    OK(bl_builder_release(b));
    WANT(BL_HANDLE, bl_builder_release(b), "was released");
    WANT(BL_HANDLE, bl_builder_int(b, 1, &out), "was released");
    WANT(BL_HANDLE, bl_builder_int((bl_builder){0}, 1, &out), "is 0");
    OK(bl_builder_release(other));
}

static void texts(void) {
    bl_kernel kernel;
    size_t start, end;
    WANT(BL_NULL, bl_kernel_parse(NULL, 3, NULL, &kernel), "the program is null");
    WANT(BL_UTF8, bl_kernel_parse("x\xc3", 2, NULL, &kernel), "from byte 1");
    WANT(BL_SYNTAX, bl_kernel_parse("x: float32[n]; return x +", BL_NUL_TERMINATED, NULL, &kernel), "");
    OK(bl_last_error_span(&start, &end));
    if (start != 25 || end != 25) printf("span %zu to %zu\n", start, end), failures++;
    WANT(BL_NULL, bl_last_error_span(NULL, &end), "");
    WANT(BL_NAME, bl_kernel_parse("x: float32[n]; return squirt(x)", BL_NUL_TERMINATED, NULL, &kernel), "sqrt");
    WANT(BL_DTYPE, bl_kernel_parse("x: int32[n]; return sqrt(x)", BL_NUL_TERMINATED, NULL, &kernel), "int32");
    char deep[20001];
    memset(deep, '(', sizeof deep);
    WANT(BL_SYNTAX, bl_kernel_parse(deep, sizeof deep, NULL, &kernel), "");
}

static void options(void) {
    bl_options options = {.size = sizeof options};
    bl_builder b;
    struct {
        bl_options known;
        uint64_t later;
    } longer = {.known = {.size = sizeof longer}};
    OK(bl_options_init(&options));
    WANT(BL_NULL, bl_options_init(NULL), "null");
    options.size = 8;
    WANT(BL_ARGUMENT, bl_builder_new(&options, &b), "8 bytes");
    options.size = sizeof options;
    options.executor = 3;
    WANT(BL_ARGUMENT, bl_builder_new(&options, &b), "3 is not the code of an executor");
    options.executor = BL_EXECUTOR_AUTO;
    options.vector_width = 64;
    WANT(BL_ARGUMENT, bl_builder_new(&options, &b), "64 is not the code of a vector width");
    OK(bl_options_init(&longer.known));
    if (longer.known.size != sizeof longer) printf("the size is the caller's\n"), failures++;
    OK(bl_builder_new(&longer.known, &b));
    OK(bl_builder_release(b));
    longer.later = 1;
    WANT(BL_ARGUMENT, bl_builder_new(&longer.known, &b), "does not know");
}

static bl_view view(void *data, bl_dtype dtype, const size_t *shape, const ptrdiff_t *strides, uint32_t rank) {
    return (bl_view){.data = data, .shape = shape, .strides = strides, .rank = rank, .dtype = dtype};
}

static void running(void) {
    bl_kernel kernel = sum();
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {8, 7, 6, 5, 4, 3, 2, 1}, out[8];
    const size_t n[] = {4}, m[] = {3}, square[] = {2, 2}, huge[] = {(size_t)1 << 62};
    const ptrdiff_t twice[] = {0}, wide[] = {PTRDIFF_MAX};
    const bl_view fx = view(x, BL_DTYPE_FLOAT32, n, NULL, 1), fy = view(y, BL_DTYPE_FLOAT32, n, NULL, 1);
    const bl_view in[] = {fx, fy}, to = view(out, BL_DTYPE_FLOAT32, n, NULL, 1);
    OK(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
    WANT(BL_ARITY, bl_kernel_run(kernel, in, 1, &to, 1, NULL), "1 inputs");
    WANT(BL_ARITY, bl_kernel_run(kernel, in, 2, &to, 0, NULL), "0 outputs");
    WANT(BL_NULL, bl_kernel_run(kernel, NULL, 2, &to, 1, NULL), "views is null");
    WANT(BL_MISALIGNED, bl_kernel_run(kernel, (const bl_view *)(const void *)((const char *)in + 1), 2, &to, 1, NULL), "");
#define RUN(first, target) bl_kernel_run(kernel, (bl_view[]){first, fy}, 2, (bl_view[]){target}, 1, NULL)
    WANT(BL_DTYPE, RUN(view(x, BL_DTYPE_FLOAT64, n, NULL, 1), to), "input 0");
    WANT(BL_DTYPE, RUN(view(x, 77, n, NULL, 1), to), "77");
    WANT(BL_DTYPE, RUN(fx, view(out, BL_DTYPE_INT32, n, NULL, 1)), "output 0");
    WANT(BL_SHAPE, RUN(view(x, BL_DTYPE_FLOAT32, m, NULL, 1), to), "n (axis 0) is 3");
    WANT(BL_SHAPE, RUN(view(x, BL_DTYPE_FLOAT32, square, NULL, 2), to), "rank 1");
    WANT(BL_SHAPE, RUN(view(x, BL_DTYPE_FLOAT32, NULL, NULL, 0), to), "rank 1");
    WANT(BL_SHAPE, RUN(view(x, BL_DTYPE_FLOAT32, n, NULL, 65), to), "rank 65");
    WANT(BL_SHAPE, RUN(fx, view(out, BL_DTYPE_FLOAT32, m, NULL, 1)), "output 0");
    WANT(BL_NULL, RUN(view(x, BL_DTYPE_FLOAT32, NULL, NULL, 1), to), "shape is null");
    WANT(BL_NULL, RUN(view(NULL, BL_DTYPE_FLOAT32, n, NULL, 1), to), "data is null");
    WANT(BL_NULL, RUN(fx, view(NULL, BL_DTYPE_FLOAT32, n, NULL, 1)), "data is null");
    WANT(BL_MISALIGNED, RUN(view((char *)x + 1, BL_DTYPE_FLOAT32, n, NULL, 1), to), "not a multiple");
    WANT(BL_MEMORY, RUN(view(x, BL_DTYPE_FLOAT32, huge, NULL, 1), to), "beyond the address space");
    WANT(BL_MEMORY, RUN(view(x, BL_DTYPE_FLOAT32, n, wide, 1), to), "beyond the address space");
    WANT(BL_MEMORY, RUN(fx, view(out, BL_DTYPE_FLOAT32, n, twice, 1)), "");
    const bl_control flawed = {.size = 4}, foreign = {.size = sizeof foreign, .cancel = {kernel.id}};
    WANT(BL_ARGUMENT, bl_kernel_run(kernel, in, 2, &to, 1, &flawed), "4 bytes");
    WANT(BL_HANDLE, bl_kernel_run(kernel, in, 2, &to, 1, &foreign), "a handle of another kind");

    /* What an output overlaps is read first, or it is an error; here every element is read before it is written. */
    float shifted[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const size_t all[] = {8};
    const bl_view apart[] = {view(shifted, BL_DTYPE_FLOAT32, all, NULL, 1), view(y, BL_DTYPE_FLOAT32, all, NULL, 1)};
    const bl_view onto = view(shifted + 1, BL_DTYPE_FLOAT32, all, NULL, 1);
    bl_status overlap = bl_kernel_run(kernel, apart, 2, &onto, 1, NULL);
    if (overlap == BL_OK) {
        for (int i = 0; i < 8; i++)
            if (shifted[i + 1] != 9) printf("shifted[%d] is %g\n", i + 1, shifted[i + 1]), failures++;
    } else {
        WANT(BL_MEMORY, overlap, "overlap");
    }

    size_t inputs, outputs, length, extent;
    uint32_t kind;
    char text[8];
    bl_operand operand = {.size = sizeof operand};
    WANT(BL_NULL, bl_kernel_arity(kernel, NULL, &outputs), "null");
    OK(bl_kernel_arity(kernel, &inputs, &outputs));
    WANT(BL_ARGUMENT, bl_kernel_operand(kernel, 2, 0, &operand), "neither BL_INPUT");
    WANT(BL_ARITY, bl_kernel_operand(kernel, BL_INPUT, 2, &operand), "index 2");
    WANT(BL_TOO_SMALL, bl_kernel_operand_name(kernel, BL_OUTPUT, 0, text, 3, &length), "3 bytes");
    if (length != 3) printf("the length is given all the same\n"), failures++;
    WANT(BL_SHAPE, bl_kernel_operand_dim(kernel, BL_INPUT, 0, 1, &kind, &extent, text, 8, &length), "no axis 1");

    OK(bl_kernel_retain(kernel));
    OK(bl_kernel_release(kernel));
    OK(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
    OK(bl_kernel_release(kernel));
    WANT(BL_HANDLE, bl_kernel_run(kernel, in, 2, &to, 1, NULL), "the kernel was released");
    WANT(BL_HANDLE, bl_kernel_release(kernel), "was released");
    bl_kernel next = sum(); /* in the same place */
    WANT(BL_HANDLE, bl_kernel_retain(kernel), "was released");
    OK(bl_kernel_release(next));
}

static void calling(void) {
    bl_kernel kernel = sum();
    bl_call call;
    float x[4] = {1, 2, 3, 4}, out[4];
    const void *in[] = {x, x}, *null[] = {x, NULL}, *odd[] = {(char *)x + 2, x};
    void *to[] = {out}, *none[] = {NULL};
    WANT(BL_SHAPE, bl_kernel_bind(kernel, NULL, 0, &call), "the extent of n");
    WANT(BL_NAME, bl_kernel_bind(kernel, (bl_extent[]){{"m", 4}}, 1, &call), "no extent `m`");
    WANT(BL_SHAPE, bl_kernel_bind(kernel, (bl_extent[]){{"n", 4}, {"n", 5}}, 2, &call), "4 and as 5");
    WANT(BL_LIMIT, bl_kernel_bind(kernel, (bl_extent[]){{"n", SIZE_MAX}}, 1, &call), "");
    OK(bl_kernel_bind(kernel, (bl_extent[]){{"n", 4}}, 1, &call));
    OK(bl_kernel_release(kernel)); /* the call keeps it */
    OK(bl_call_run(call, in, 2, to, 1));
    WANT(BL_ARITY, bl_call_run(call, in, 2, to, 2), "2 outputs");
    WANT(BL_NULL, bl_call_run(call, NULL, 2, to, 1), "inputs is null");
    WANT(BL_NULL, bl_call_run(call, null, 2, to, 1), "input 1");
    WANT(BL_NULL, bl_call_run(call, in, 2, none, 1), "output 0");
    WANT(BL_MISALIGNED, bl_call_run(call, odd, 2, to, 1), "input 0");
    WANT(BL_SHAPE, bl_call_run_range(call, 3, 5, in, 2, to, 1), "3 to 5");
    WANT(BL_SHAPE, bl_call_run_range(call, 3, 2, in, 2, to, 1), "3 to 2");
    OK(bl_call_run_range(call, 1, 3, in, 2, to, 1));
    if (out[0] != 4 || out[1] != 6) printf("rows 1 and 2: %g %g\n", out[0], out[1]), failures++;
    size_t rank;
    WANT(BL_TOO_SMALL, bl_call_output_shape(call, 0, NULL, 0, &rank), "1 extents");
    WANT(BL_ARITY, bl_call_output_shape(call, 1, NULL, 0, &rank), "index 1");
    WANT(BL_HANDLE, bl_call_run((bl_call){kernel.id}, in, 2, to, 1), "a handle of another kind");
    OK(bl_call_release(call));
    WANT(BL_HANDLE, bl_call_run(call, in, 2, to, 1), "the call was released");
}

/* Threads that use a kernel while another one releases it: each use is whole, or BL_HANDLE. */
struct shared {
    bl_kernel kernel;
    int wrong;
};

static void *use(void *argument) {
    struct shared *shared = argument;
    float x[4] = {1, 2, 3, 4}, out[4];
    const size_t n[] = {4};
    const bl_view f = view(x, BL_DTYPE_FLOAT32, n, NULL, 1), in[] = {f, f}, to = view(out, BL_DTYPE_FLOAT32, n, NULL, 1);
    bl_status status;
    do {
        memset(out, 0, sizeof out);
        status = bl_kernel_run(shared->kernel, in, 2, &to, 1, NULL);
        if (status == BL_OK ? out[3] != 8 : status != BL_HANDLE) __atomic_store_n(&shared->wrong, 1, __ATOMIC_RELAXED);
    } while (status == BL_OK);
    return NULL;
}

static void racing(void) {
    for (int round = 0; round < 50; round++) {
        struct shared shared = {sum(), 0};
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, use, &shared);
        OK(bl_kernel_release(shared.kernel));
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        if (shared.wrong) printf("a use of a kernel that is being released went wrong\n"), failures++;
    }
}

int main(void) {
    building();
    texts();
    options();
    running();
    calling();
    racing();
    bl_flag flag;
    WANT(BL_NULL, bl_flag_new(NULL), "null");
    OK(bl_flag_new(&flag));
    OK(bl_flag_release(flag));
    WANT(BL_HANDLE, bl_flag_raise(flag), "the flag was released");
    WANT(BL_HANDLE, bl_flag_lower((bl_flag){~(uint64_t)0}), "a handle of another kind");
    if (strcmp(bl_status_name(99), "unknown status") != 0) printf("status 99\n"), failures++;
    printf(failures ? "%d failures\n" : "every misuse was answered by a status\n", failures);
    return failures != 0;
}
