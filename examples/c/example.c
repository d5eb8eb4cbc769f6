/* broadloom from C: a kernel built from text, the same kernel built by calls, strided memory, threads, and cancelling. */
#include <broadloom.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the message of a status other than BL_OK. */
static void ok(bl_status status, const char *what) {
    if (status != BL_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, bl_status_name(status), bl_last_error());
        exit(1);
    }
}
#define OK(call) ok(call, #call)

/* Ends the program with a message if the condition is false. */
static void expect(int so, const char *what) {
    if (!so) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
}
#define EXPECT(so) expect(so, #so)

/* out = where(x > limit, (x - mean) * scale, 0), for any number of rows of any length. */
static const char PROGRAM[] =
    "x: float32[n, m]; mean: float32[m]; scale: float32[]; limit: float32[]\n"
    "return out = where(x > limit, (x - mean) * scale, 0)";

static bl_kernel from_text(void) {
    bl_kernel kernel;
    OK(bl_kernel_parse(PROGRAM, BL_NUL_TERMINATED, NULL, &kernel));
    return kernel;
}

/* Builds the same kernel as PROGRAM by calls. */
static bl_kernel from_calls(void) {
    const bl_dim matrix[] = {{"n", 0}, {"m", 0}}, row[] = {{"m", 0}};
    bl_builder b;
    bl_kernel kernel;
    bl_value x, mean, scale, limit, zero, above, centred, scaled, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, matrix, 2, &x));
    OK(bl_builder_input(b, "mean", BL_DTYPE_FLOAT32, row, 1, &mean));
    OK(bl_builder_input(b, "scale", BL_DTYPE_FLOAT32, NULL, 0, &scale));
    OK(bl_builder_input(b, "limit", BL_DTYPE_FLOAT32, NULL, 0, &limit));
    OK(bl_builder_int(b, 0, &zero));
    OK(bl_builder_apply(b, "greater", (bl_value[]){x, limit}, 2, &above));
    OK(bl_builder_apply(b, "subtract", (bl_value[]){x, mean}, 2, &centred));
    OK(bl_builder_apply(b, "multiply", (bl_value[]){centred, scale}, 2, &scaled));
    OK(bl_builder_apply(b, "where", (bl_value[]){above, scaled, zero}, 3, &out));
    OK(bl_builder_output(b, "out", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

/* Prints the inputs and outputs of a kernel. */
static void describe(bl_kernel kernel) {
    size_t count[2];
    OK(bl_kernel_arity(kernel, &count[BL_INPUT], &count[BL_OUTPUT]));
    for (uint32_t side = BL_INPUT; side <= BL_OUTPUT; side++) {
        for (size_t i = 0; i < count[side]; i++) {
            bl_operand operand = {.size = sizeof operand};
            char text[64];
            size_t length;
            OK(bl_kernel_operand(kernel, side, i, &operand));
            OK(bl_kernel_operand_name(kernel, side, i, text, sizeof text, &length));
            printf("%s %s: %s[", side == BL_INPUT ? "in " : "out", text, bl_dtype_name(operand.dtype));
            for (size_t axis = 0; axis < operand.rank; axis++) {
                uint32_t kind;
                size_t extent;
                OK(bl_kernel_operand_dim(kernel, side, i, axis, &kind, &extent, text, sizeof text, &length));
                printf("%s%s", axis > 0 ? "," : "", text);
            }
            printf("]\n");
        }
    }
}

static bl_view view(void *data, bl_dtype dtype, const size_t *shape, const ptrdiff_t *strides, uint32_t rank) {
    return (bl_view){.data = data, .shape = shape, .strides = strides, .rank = rank, .dtype = dtype};
}

/* Runs the kernel on every other column of a matrix, in reverse order, and writes to columns of another matrix. */
static void strided(bl_kernel kernel) {
    float x[2][6] = {{1, -1, 2, -1, 3, -1}, {4, -1, 5, -1, 6, -1}};
    float mean[3] = {1, 1, 1}, scale = 10, limit = 2.5f, out[3][2];
    const size_t matrix[] = {2, 3}, row[] = {3};
    const ptrdiff_t backwards[] = {6, -2}, columns[] = {1, 2};
    const bl_view in[] = {
        view(&x[0][4], BL_DTYPE_FLOAT32, matrix, backwards, 2),
        view(mean, BL_DTYPE_FLOAT32, row, NULL, 1),
        view(&scale, BL_DTYPE_FLOAT32, NULL, NULL, 0),
        view(&limit, BL_DTYPE_FLOAT32, NULL, NULL, 0),
    };
    const bl_view to = view(out, BL_DTYPE_FLOAT32, matrix, columns, 2);
    OK(bl_kernel_run(kernel, in, 4, &to, 1, NULL));
    const float want[3][2] = {{20, 50}, {0, 40}, {0, 30}};
    EXPECT(memcmp(out, want, sizeof want) == 0);
    printf("strided: %g %g / %g %g / %g %g\n", out[0][0], out[0][1], out[1][0], out[1][1], out[2][0], out[2][1]);
}

enum { ROWS = 1000, COLUMNS = 257, THREADS = 4 };

struct job {
    bl_call call;
    const void *in[4];
    float *out;
    size_t begin, end;
};

/* A thread of the application, which computes its share of the rows. */
static void *share(void *argument) {
    const struct job *job = argument;
    void *rows = job->out + job->begin * COLUMNS;
    OK(bl_call_run_range(job->call, job->begin, job->end, job->in, 4, &rows, 1));
    OK(bl_call_release(job->call));
    return NULL;
}

/* Prepares a call once, and runs it three times: as a whole, in shares of four threads, and in place. */
static void prepared(bl_kernel kernel) {
    const size_t bytes = sizeof(float) * ROWS * COLUMNS;
    float *x = malloc(bytes), *whole = malloc(bytes), *shared = malloc(bytes), mean[COLUMNS], scale = 2, limit = 100;
    for (size_t i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 1009);
    for (size_t i = 0; i < COLUMNS; i++) mean[i] = (float)i;

    bl_call call;
    const bl_extent extents[] = {{"n", ROWS}, {"m", COLUMNS}};
    OK(bl_kernel_bind(kernel, extents, 2, &call));
    size_t shape[2], rank;
    OK(bl_call_output_shape(call, 0, shape, 2, &rank));
    EXPECT(rank == 2 && shape[0] == ROWS && shape[1] == COLUMNS);

    const void *in[] = {x, mean, &scale, &limit};
    void *out = whole;
    OK(bl_call_run(call, in, 4, &out, 1));
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        EXPECT(whole[i] == (x[i] > limit ? (x[i] - mean[i % COLUMNS]) * scale : 0));

    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){call, {x, mean, &scale, &limit}, shared, i * ROWS / THREADS, (i + 1) * ROWS / THREADS};
        OK(bl_call_retain(call)); /* released by the thread */
        EXPECT(pthread_create(&threads[i], NULL, share, &jobs[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    EXPECT(memcmp(whole, shared, bytes) == 0);

    out = x; /* the input itself */
    OK(bl_call_run(call, in, 4, &out, 1));
    EXPECT(memcmp(whole, x, bytes) == 0);
    OK(bl_call_release(call));
    printf("prepared: whole, in %d threads, and in place: the same %d values\n", THREADS, ROWS * COLUMNS);
    free(x), free(whole), free(shared);
}

struct watched {
    bl_flag flag;
    uint64_t total; /* from the last report; written atomically, because several threads may report */
};

static void report(void *context, uint64_t done, uint64_t total) {
    struct watched *watched = context;
    (void)done;
    __atomic_store_n(&watched->total, total, __ATOMIC_RELAXED);
    bl_flag_raise(watched->flag);
}

/* Cancels a run by setting its flag when the first part is done. */
static void cancelled(void) {
    enum { N = 4000000 };
    struct watched watched = {{0}, 0};
    float *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
    bl_options options = {.size = sizeof options};
    OK(bl_options_init(&options));
    options.threads = 1;

    const bl_dim n[] = {{"n", 0}};
    bl_builder b;
    bl_kernel kernel;
    bl_value in, out;
    OK(bl_builder_new(&options, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, n, 1, &in));
    OK(bl_builder_apply(b, "sqrt", &in, 1, &out));
    OK(bl_builder_output(b, "y", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));

    OK(bl_flag_new(&watched.flag));
    const size_t shape[] = {N};
    const bl_view from = view(x, BL_DTYPE_FLOAT32, shape, NULL, 1), to = view(y, BL_DTYPE_FLOAT32, shape, NULL, 1);
    const bl_control control = {sizeof control, watched.flag, report, &watched};
    EXPECT(bl_kernel_run(kernel, &from, 1, &to, 1, &control) == BL_CANCELLED);
    printf("cancelled: %s\n", bl_last_error());
    EXPECT(__atomic_load_n(&watched.total, __ATOMIC_RELAXED) == N);
    OK(bl_flag_lower(watched.flag));
    OK(bl_flag_release(watched.flag));
    OK(bl_kernel_release(kernel));
    free(x), free(y);
}

int main(void) {
    EXPECT(bl_version() / 100 == BL_VERSION / 100);
    printf("broadloom %s\n", bl_version_string());
    bl_kernel text = from_text(), calls = from_calls();
    describe(text);
    strided(text);
    strided(calls);
    prepared(text);
    cancelled();
    OK(bl_kernel_release(text));
    OK(bl_kernel_release(calls));
    return 0;
}
