/* Functions of the application in kernels that are built by calls and from texts, and views of values. */
#include "checked.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with a message if the condition is false. */
static void expect(int so, const char *what) {
    if (!so) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
}
#define EXPECT(so) expect(so, #so)

/* A table with a brightness for each byte, and a counter of how often it was destroyed. */
struct table {
    float values[256];
    int *destroyed;
};

/* The host function, which looks up each byte. Several threads may call it at once; it only reads the table. */
static int32_t look_up(void *context, size_t elements, const void *const *inputs, void *output) {
    const struct table *table = context;
    const uint8_t *keys = inputs[0];
    float *values = output;
    for (size_t i = 0; i < elements; i++) values[i] = table->values[keys[i]];
    return 0;
}

static void destroy(void *context) {
    struct table *table = context;
    (*table->destroyed)++;
    free(table);
}

/* Makes the host function with a new table. */
static bl_host brightness(int *destroyed) {
    struct table *table = malloc(sizeof *table);
    EXPECT(table != NULL);
    for (int i = 0; i < 256; i++) table->values[i] = (float)(i * i) / 65025;
    table->destroyed = destroyed;
    const bl_dtype operands[] = {BL_DTYPE_UINT8};
    const bl_host_function description = {
        .size = sizeof description,
        .name = "brightness",
        .operands = operands,
        .operand_count = 1,
        .result = BL_DTYPE_FLOAT32,
        .cost = 20,
        .function = look_up,
        .context = table,
        .destructor = destroy,
    };
    bl_host host;
    OK(bl_host_new(&description, &host));
    return host;
}

/* Builds out = brightness(x) * 2 by calls. The loop calls the function. */
static bl_kernel doubled(bl_host host) {
    const bl_dim n[] = {{"n", 0}};
    bl_builder b;
    bl_kernel kernel;
    bl_value x, two, bright, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_UINT8, n, 1, &x));
    OK(bl_builder_call(b, host, &x, 1, &bright));
    OK(bl_builder_float(b, 2, &two));
    OK(bl_builder_apply(b, "multiply", (bl_value[]){bright, two}, 2, &out));
    OK(bl_builder_output(b, "out", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

/* Builds the same kernel from a text, which defines a function that calls the host function. */
static bl_kernel doubled_by_text(bl_host host) {
    bl_library library;
    bl_kernel kernel;
    OK(bl_library_new(&library));
    OK(bl_library_register(library, host));
    OK(bl_library_define(library, "def doubled(x) = brightness(x) * 2", BL_NUL_TERMINATED));
    OK(bl_kernel_parse_with("x: uint8[n]; return out = doubled(x)", BL_NUL_TERMINATED, library, NULL, &kernel));
    OK(bl_library_release(library)); /* the kernel keeps the functions */
    return kernel;
}

enum { N = 1000000 };

static void *run(void *argument) {
    const bl_kernel *kernel = argument;
    uint8_t *x = malloc(N);
    float *out = malloc(N * sizeof *out);
    EXPECT(x != NULL && out != NULL);
    for (size_t i = 0; i < N; i++) x[i] = (uint8_t)(i * 7);
    const size_t shape[] = {N};
    const bl_view from = {x, shape, NULL, 1, BL_DTYPE_UINT8}, to = {out, shape, NULL, 1, BL_DTYPE_FLOAT32};
    OK(bl_kernel_run(*kernel, &from, 1, &to, 1, NULL));
    for (size_t i = 0; i < N; i++) EXPECT(out[i] == (float)(x[i] * x[i]) / 65025 * 2);
    free(x), free(out);
    return NULL;
}

/* Runs kernels with a host function on several threads. The table is destroyed once, when nothing refers to the function. */
static void functions(void) {
    int destroyed = 0;
    bl_host host = brightness(&destroyed);
    bl_kernel kernels[] = {doubled(host), doubled_by_text(host)};
    OK(bl_host_release(host)); /* the kernels keep the function */
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) EXPECT(pthread_create(&threads[i], NULL, run, &kernels[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    OK(bl_kernel_release(kernels[0]));
    OK(bl_clear_caches());
    EXPECT(destroyed == 0);
    OK(bl_kernel_release(kernels[1]));
    OK(bl_clear_caches()); /* caches may keep the function longer than the kernels */
    EXPECT(destroyed == 1);
    printf("functions: %d elements looked up by each of two kernels, the table destroyed once\n", N);
}

enum { NEGATIVE = 7 };

/* A host function that fails for negative numbers. */
static int32_t root(void *context, size_t elements, const void *const *inputs, void *output) {
    (void)context;
    const int64_t *squares = inputs[0];
    int64_t *roots = output;
    for (size_t i = 0; i < elements; i++) {
        if (squares[i] < 0) return NEGATIVE;
        roots[i] = 0;
        while ((roots[i] + 1) * (roots[i] + 1) <= squares[i]) roots[i]++;
    }
    return 0;
}

/* If a function fails, the run ends with a status and a message, and the kernel can be run again. */
static void failing(void) {
    const bl_dtype operands[] = {BL_DTYPE_INT64};
    const bl_host_function description = {
        .size = sizeof description,
        .name = "root",
        .operands = operands,
        .operand_count = 1,
        .result = BL_DTYPE_INT64,
        .function = root,
    };
    bl_host host;
    bl_library library;
    bl_kernel kernel;
    OK(bl_host_new(&description, &host));
    OK(bl_library_new(&library));
    OK(bl_library_register(library, host));
    OK(bl_kernel_parse_with("x: int64[n]; return root(x) + 1", BL_NUL_TERMINATED, library, NULL, &kernel));
    OK(bl_library_release(library));
    OK(bl_host_release(host));
    int64_t x[] = {0, 1, 99, 100}, out[4];
    const size_t shape[] = {4};
    const bl_view from = {x, shape, NULL, 1, BL_DTYPE_INT64}, to = {out, shape, NULL, 1, BL_DTYPE_INT64};
    OK(bl_kernel_run(kernel, &from, 1, &to, 1, NULL));
    EXPECT(out[0] == 1 && out[1] == 2 && out[2] == 10 && out[3] == 11);
    x[2] = -1;
    EXPECT(bl_kernel_run(kernel, &from, 1, &to, 1, NULL) == BL_HOST);
    printf("failing: %s\n", bl_last_error());
    x[2] = 4;
    OK(bl_kernel_run(kernel, &from, 1, &to, 1, NULL));
    EXPECT(out[2] == 3);
    OK(bl_kernel_release(kernel));
}

/* Checks the output of a kernel without symbols, which has an input x of int32[3,4]. */
static void computes(bl_builder b, bl_value value, const int32_t *want, size_t count, const char *what) {
    int32_t x[3][4], out[64];
    for (int i = 0; i < 12; i++) x[i / 4][i % 4] = i;
    bl_kernel kernel;
    bl_call call;
    OK(bl_builder_output(b, "out", value));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_kernel_bind(kernel, NULL, 0, &call));
    size_t shape[8], rank, elements = 1;
    OK(bl_call_output_shape(call, 0, shape, 8, &rank));
    for (size_t axis = 0; axis < rank; axis++) elements *= shape[axis];
    EXPECT(elements == count);
    const void *in = x;
    void *to = out;
    OK(bl_call_run(call, &in, 1, &to, 1));
    if (memcmp(out, want, count * sizeof *want) != 0) {
        fprintf(stderr, "%s has other elements\n", what);
        exit(1);
    }
    printf("%s: [", what);
    for (size_t axis = 0; axis < rank; axis++) printf("%s%zu", axis > 0 ? "," : "", shape[axis]);
    printf("]\n");
    OK(bl_call_release(call));
    OK(bl_kernel_release(kernel));
    OK(bl_builder_release(b));
}

static bl_builder begin(bl_value *x) {
    const bl_dim dims[] = {{NULL, 3}, {NULL, 4}};
    bl_builder b;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, dims, 2, x));
    return b;
}

/* Views move no elements: they change the strides with which the loop reads the input. */
static void views(void) {
    bl_value x, y, z;
    bl_builder b = begin(&x); /* x[1:, ::-2] */
    const bl_range ranges[] = {{1, BL_OPEN, 1}, {BL_OPEN, BL_OPEN, -2}};
    OK(bl_builder_slice(b, x, ranges, 2, &y));
    computes(b, y, (int32_t[]){7, 5, 11, 9}, 4, "slice");
    b = begin(&x); /* the last row: the stop is clamped to the number of rows, and all columns are kept */
    OK(bl_builder_slice(b, x, (bl_range[]){{-1, 99, 1}}, 1, &y));
    computes(b, y, (int32_t[]){8, 9, 10, 11}, 4, "the last row");
    b = begin(&x);
    OK(bl_builder_index_axis(b, x, 1, -1, &y));
    computes(b, y, (int32_t[]){3, 7, 11}, 3, "index");
    b = begin(&x);
    OK(bl_builder_flip(b, x, 0, &y));
    computes(b, y, (int32_t[]){8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}, 12, "flip");
    b = begin(&x);
    OK(bl_builder_permute(b, x, (ptrdiff_t[]){-1, 0}, 2, &y));
    computes(b, y, (int32_t[]){0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, 12, "permute");
    b = begin(&x); /* y + transpose(y), where y is the first three columns of x */
    OK(bl_builder_slice(b, x, (bl_range[]){{0, 3, 1}, {0, 3, 1}}, 2, &y));
    OK(bl_builder_transpose(b, y, &z));
    OK(bl_builder_apply(b, "add", (bl_value[]){y, z}, 2, &z));
    computes(b, z, (int32_t[]){0, 5, 10, 5, 10, 15, 10, 15, 20}, 9, "transpose");
    b = begin(&x);
    OK(bl_builder_reshape(b, x, (ptrdiff_t[]){2, -1}, 2, &y));
    OK(bl_builder_flip(b, y, 0, &y));
    computes(b, y, (int32_t[]){6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}, 12, "reshape");
    b = begin(&x); /* the first row minus the first column, broadcast to a matrix */
    OK(bl_builder_index_axis(b, x, 0, 0, &y));
    OK(bl_builder_index_axis(b, x, 1, 0, &z));
    OK(bl_builder_expand_dims(b, z, 1, &z));
    OK(bl_builder_apply(b, "subtract", (bl_value[]){y, z}, 2, &z));
    computes(b, z, (int32_t[]){0, 1, 2, 3, -4, -3, -2, -1, -8, -7, -6, -5}, 12, "expand_dims");
    b = begin(&x);
    OK(bl_builder_slice(b, x, (bl_range[]){{1, 2, 1}}, 1, &y));
    OK(bl_builder_squeeze(b, y, 0, &y));
    OK(bl_builder_broadcast_to(b, y, (size_t[]){2, 4}, 2, &y));
    computes(b, y, (int32_t[]){4, 5, 6, 7, 4, 5, 6, 7}, 8, "squeeze and broadcast_to");
}

int main(void) {
    functions();
    failing();
    views();
    return 0;
}
