/* Every wrong call that the library can detect returns a status. */
#include <broadloom.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* Reports a status other than the expected one, or a message that lacks the expected words. */
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

static bl_view view(void *data, bl_dtype dtype, const size_t *shape, const ptrdiff_t *strides, uint32_t rank) {
    return (bl_view){.data = data, .shape = shape, .strides = strides, .rank = rank, .dtype = dtype};
}

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
    OK(bl_builder_int(b, 3000000000, &out));
    WANT(BL_LITERAL, bl_builder_apply(b, "add", (bl_value[]){x, out}, 2, &out), "3000000000");
    OK(bl_builder_release(b));
    WANT(BL_HANDLE, bl_builder_release(b), "was released");
    WANT(BL_HANDLE, bl_builder_int(b, 1, &out), "was released");
    WANT(BL_HANDLE, bl_builder_int((bl_builder){0}, 1, &out), "is 0");
    OK(bl_builder_release(other));

    /* A full builder keeps its values and can still be used. */
    bl_options small = {.size = sizeof small};
    OK(bl_options_init(&small));
    small.max_nodes = 1;
    OK(bl_builder_new(&small, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, N, 1, &x));
    WANT(BL_LIMIT, bl_builder_input(b, "y", BL_DTYPE_INT32, N, 1, &y), "more than 1 values: see max_nodes");
    OK(bl_builder_output(b, "out", x));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_kernel_release(kernel));
    OK(bl_builder_release(b));
}

/* Loops that have not begun, do not end, or are left. */
static void loops(void) {
    bl_builder b;
    bl_kernel kernel;
    bl_value x, zero, carried[2], condition, doubled, last[2], inner[1], y;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, N, 1, &x));
    OK(bl_builder_int(b, 0, &zero));
    WANT(BL_ARGUMENT, bl_builder_loop_condition(b, x), "no loop has begun");
    WANT(BL_ARGUMENT, bl_builder_loop_end(b, &x, 1, 9, last), "no loop has begun");
    WANT(BL_ARITY, bl_builder_loop_begin(b, NULL, 0, carried), "no carried value");
    WANT(BL_NULL, bl_builder_loop_begin(b, NULL, 1, carried), "the state is null");
    WANT(BL_NULL, bl_builder_loop_begin(b, &x, 1, NULL), "the carried values is null");
    OK(bl_builder_loop_begin(b, (bl_value[]){x, zero}, 2, carried));
    WANT(BL_ARGUMENT, bl_builder_loop_end(b, carried, 2, 9, last), "the loop has no condition");
    WANT(BL_ARGUMENT, bl_builder_output(b, "x", x), "a loop has not ended");
    WANT(BL_ARGUMENT, bl_builder_compile(b, &kernel), "a loop has not ended");
    OK(bl_builder_apply(b, "less", (bl_value[]){carried[0], x}, 2, &condition));
    OK(bl_builder_apply(b, "add", (bl_value[]){carried[0], carried[0]}, 2, &doubled));
    OK(bl_builder_input(b, "y", BL_DTYPE_INT32, N, 1, &y));

    OK(bl_builder_loop_begin(b, &doubled, 1, inner));
    OK(bl_builder_loop_condition(b, condition));
    OK(bl_builder_loop_end(b, inner, 1, 9, last));
    WANT(BL_ARGUMENT, bl_builder_apply(b, "negative", inner, 1, last), "a loop or a scan that has ended");
    OK(bl_builder_apply(b, "negative", last, 1, &doubled));

    OK(bl_builder_loop_condition(b, carried[0]));
    WANT(BL_ARGUMENT, bl_builder_loop_condition(b, condition), "has a condition already");
    WANT(BL_DTYPE, bl_builder_loop_end(b, carried, 2, 9, last), "the condition must be bool, not int32");
    OK(bl_builder_release(b));

    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, N, 1, &x));
    OK(bl_builder_int(b, 0, &zero));
    OK(bl_builder_loop_begin(b, (bl_value[]){x, zero}, 2, carried));
    OK(bl_builder_apply(b, "less", (bl_value[]){carried[0], x}, 2, &condition));
    OK(bl_builder_input(b, "y", BL_DTYPE_INT32, N, 1, &y));
    OK(bl_builder_loop_condition(b, condition));
    WANT(BL_ARITY, bl_builder_loop_end(b, carried, 1, 9, last), "the loop carries 2 values, but got 1");
    WANT(BL_DTYPE, bl_builder_loop_end(b, (bl_value[]){carried[1], carried[0]}, 2, 9, last), "carried value 0 is int32");
    WANT(BL_NULL, bl_builder_loop_end(b, carried, 2, 9, NULL), "the results is null");
    OK(bl_builder_loop_end(b, carried, 2, 9, last));
    WANT(BL_ARGUMENT, bl_builder_output(b, "carried", carried[0]), "a loop or a scan that has ended");
    WANT(BL_ARGUMENT, bl_builder_apply(b, "logical_not", &condition, 1, &doubled), "a loop or a scan that has ended");
    OK(bl_builder_apply(b, "add", (bl_value[]){last[0], y}, 2, &doubled)); /* an input belongs to no loop */
    OK(bl_builder_output(b, "out", doubled));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_kernel_release(kernel));
    OK(bl_builder_release(b));
}

/* Scans that have not begun, do not end, are left, or are taken for loops. */
static void scans(void) {
    bl_builder b;
    bl_kernel kernel;
    bl_value x, y, one, s[2], e[2], sum, inner, last[2], all[2];
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, N, 1, &x));
    OK(bl_builder_int(b, 1, &one));
    WANT(BL_ARGUMENT, bl_builder_scan_end(b, &x, 1, NULL, 0, last, NULL), "no scan has begun");
    WANT(BL_ARITY, bl_builder_scan_begin(b, NULL, 0, &x, 1, 0, 0, 0, s, e), "there is no state");
    WANT(BL_NULL, bl_builder_scan_begin(b, NULL, 1, &x, 1, 0, 0, 0, s, e), "the state is null");
    WANT(BL_NULL, bl_builder_scan_begin(b, &one, 1, NULL, 1, 0, 0, 0, s, e), "the inputs is null");
    WANT(BL_NULL, bl_builder_scan_begin(b, &one, 1, &x, 1, 0, 0, 0, NULL, e), "the carried values is null");
    WANT(BL_NULL, bl_builder_scan_begin(b, &one, 1, &x, 1, 0, 0, 0, s, NULL), "the elements is null");
    WANT(BL_SHAPE, bl_builder_scan_begin(b, &one, 1, &x, 1, 1, 0, 0, s, e), "has no axis 1");
    WANT(BL_ARGUMENT, bl_builder_scan_begin(b, &one, 1, &x, 1, 0, 3, 0, s, e), "3 is not the code of an order of steps");
    WANT(BL_ARITY, bl_builder_scan_begin(b, &one, 1, NULL, 0, 0, BL_STEPS_IN_PAIRS, 0, s, e), "0 arrays, but 1 identity value");
    WANT(BL_SHAPE, bl_builder_scan_begin(b, &one, 1, &one, 1, 0, 0, 0, s, e), "has no axis 0");
    OK(bl_builder_cast(b, one, BL_DTYPE_INT32, &one));
    OK(bl_builder_scan_begin(b, &one, 1, &x, 1, -1, 1, 0, s, e));
    WANT(BL_ARGUMENT, bl_builder_loop_condition(b, x), "a scan has not ended");
    WANT(BL_ARGUMENT, bl_builder_loop_end(b, s, 1, 9, last), "a scan has not ended");
    WANT(BL_ARGUMENT, bl_builder_output(b, "x", x), "a scan has not ended");
    WANT(BL_ARGUMENT, bl_builder_compile(b, &kernel), "a scan has not ended");
    OK(bl_builder_apply(b, "add", (bl_value[]){s[0], e[0]}, 2, &sum));

    OK(bl_builder_loop_begin(b, &sum, 1, &inner));
    WANT(BL_ARGUMENT, bl_builder_scan_end(b, &sum, 1, &sum, 1, last, all), "a loop has not ended");
    OK(bl_builder_apply(b, "less", (bl_value[]){inner, one}, 2, &y));
    OK(bl_builder_loop_condition(b, y));
    OK(bl_builder_apply(b, "add", (bl_value[]){inner, one}, 2, &y));
    OK(bl_builder_loop_end(b, &y, 1, 9, &inner));

    WANT(BL_ARITY, bl_builder_scan_end(b, (bl_value[]){sum, sum}, 2, NULL, 0, last, NULL), "the scan carries 1 values, but got 2");
    OK(bl_builder_cast(b, sum, BL_DTYPE_FLOAT32, &y));
    WANT(BL_DTYPE, bl_builder_scan_end(b, &y, 1, NULL, 0, last, NULL), "state 0 is int32");
    WANT(BL_NULL, bl_builder_scan_end(b, &sum, 1, &inner, 1, NULL, all), "the last state is null");
    WANT(BL_NULL, bl_builder_scan_end(b, &sum, 1, &inner, 1, last, NULL), "the results is null");
    WANT(BL_NULL, bl_builder_scan_end(b, NULL, 1, &inner, 1, last, all), "the next state is null");
    WANT(BL_NULL, bl_builder_scan_end(b, &sum, 1, NULL, 1, last, all), "the outputs is null");
    OK(bl_builder_input(b, "y", BL_DTYPE_INT32, N, 1, &y));
    OK(bl_builder_scan_end(b, &sum, 1, (bl_value[]){inner, sum}, 2, last, all));
    WANT(BL_ARGUMENT, bl_builder_output(b, "state", s[0]), "a loop or a scan that has ended");
    WANT(BL_ARGUMENT, bl_builder_output(b, "element", e[0]), "a loop or a scan that has ended");
    WANT(BL_ARGUMENT, bl_builder_output(b, "sum", sum), "a loop or a scan that has ended");
    OK(bl_builder_output(b, "last", last[0]));
    OK(bl_builder_apply(b, "add", (bl_value[]){all[0], y}, 2, &y)); /* an input belongs to no scan */
    OK(bl_builder_output(b, "all", y));

    /* Without inputs there is a length. */
    OK(bl_builder_scan_begin(b, &one, 1, NULL, 0, 0, 0, 3, s, NULL));
    OK(bl_builder_scan_end(b, s, 1, s, 1, last, all));
    OK(bl_builder_output(b, "ones", all[0]));
    OK(bl_builder_compile(b, &kernel));
    int32_t in[] = {1, 2, 3}, end = 0, sums[3] = {0}, ones[3] = {0};
    const size_t three = 3;
    const bl_view values = view(in, BL_DTYPE_INT32, &three, NULL, 1), inputs[] = {values, values};
    const bl_view outputs[] = {
        view(&end, BL_DTYPE_INT32, NULL, NULL, 0),
        view(sums, BL_DTYPE_INT32, &three, NULL, 1),
        view(ones, BL_DTYPE_INT32, &three, NULL, 1),
    };
    OK(bl_kernel_run(kernel, inputs, 2, outputs, 3, NULL));
    if (end != 7 || sums[0] != 8 || sums[1] != 8 || sums[2] != 7 || ones[0] != 1 || ones[2] != 1) {
        printf("line %d: a scan has other values\n", __LINE__);
        failures++;
    }
    OK(bl_kernel_release(kernel));
    OK(bl_builder_release(b));
}

/* Invalid views. */
static void views(void) {
    const bl_dim table[] = {{NULL, 3}, {NULL, 4}};
    const bl_range all = {BL_OPEN, BL_OPEN, 1}, still = {0, 2, 0};
    bl_builder b;
    bl_value x, open, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, table, 2, &x));
    OK(bl_builder_input(b, "open", BL_DTYPE_INT32, N, 1, &open));
    WANT(BL_SHAPE, bl_builder_slice(b, x, (bl_range[]){all, all, all}, 3, &out), "3 ranges");
    WANT(BL_SHAPE, bl_builder_slice(b, x, (bl_range[]){all, still}, 2, &out), "axis 1 of [3,4] is 0");
    WANT(BL_NULL, bl_builder_slice(b, x, NULL, 1, &out), "ranges is null");
    WANT(BL_MISALIGNED, bl_builder_slice(b, x, (const bl_range *)(const void *)((const char *)&all + 1), 1, &out), "multiple");
    WANT(BL_NULL, bl_builder_slice(b, x, &all, 1, NULL), "value is null");
    WANT(BL_HANDLE, bl_builder_slice(b, (bl_value){x.id + 9}, &all, 1, &out), "another builder");
    OK(bl_builder_slice(b, open, &all, 1, &out));
    WANT(BL_SHAPE, bl_builder_index_axis(b, x, 0, 3, &out), "index 3 is out of range");
    WANT(BL_SHAPE, bl_builder_index_axis(b, x, 2, 0, &out), "axis 2 is out of range");
    OK(bl_builder_index_axis(b, open, 0, 0, &out));
    WANT(BL_SHAPE, bl_builder_flip(b, x, -3, &out), "axis -3 is out of range");
    WANT(BL_SHAPE, bl_builder_permute(b, x, (ptrdiff_t[]){1}, 1, &out), "permute_dims");
    WANT(BL_SHAPE, bl_builder_permute(b, x, (ptrdiff_t[]){1, 1}, 2, &out), "permute_dims");
    WANT(BL_NULL, bl_builder_permute(b, x, NULL, 2, &out), "axes is null");
    WANT(BL_HANDLE, bl_builder_transpose(b, (bl_value){0}, &out), "another builder");
    WANT(BL_SHAPE, bl_builder_broadcast_to(b, x, (size_t[]){3, 5}, 2, &out), "broadcast");
    WANT(BL_SHAPE, bl_builder_broadcast_to(b, x, NULL, 0, &out), "broadcast");
    WANT(BL_LIMIT, bl_builder_broadcast_to(b, x, (size_t[]){SIZE_MAX, 3, 4}, 3, &out), "");
    WANT(BL_SHAPE, bl_builder_reshape(b, x, (ptrdiff_t[]){5, -1}, 2, &out), "do not fill");
    WANT(BL_SHAPE, bl_builder_reshape(b, x, (ptrdiff_t[]){-1, -1}, 2, &out), "both -1");
    WANT(BL_SHAPE, bl_builder_reshape(b, x, (ptrdiff_t[]){-2, 6}, 2, &out), "is -2");
    WANT(BL_NULL, bl_builder_reshape(b, x, NULL, 1, &out), "shape is null");
    WANT(BL_SHAPE, bl_builder_expand_dims(b, x, 4, &out), "axis 4 is out of range");
    WANT(BL_SHAPE, bl_builder_squeeze(b, x, 0, &out), "extent 3, not 1");
    WANT(BL_SHAPE, bl_builder_squeeze(b, x, 7, &out), "axis 7 is out of range");
    OK(bl_builder_release(b));
    WANT(BL_HANDLE, bl_builder_flip(b, x, 0, &out), "was released");
}

/* Invalid reductions. */
static void reductions(void) {
    const bl_dim table[] = {{NULL, 3}, {NULL, 0}};
    const ptrdiff_t one = 1, twice[] = {0, -2};
    bl_builder b;
    bl_value x, open, counts, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, table, 2, &x));
    OK(bl_builder_input(b, "open", BL_DTYPE_FLOAT32, N, 1, &open));
    OK(bl_builder_input(b, "counts", BL_DTYPE_INT8, table, 2, &counts));
    WANT(BL_ARGUMENT, bl_builder_reduce(b, 77, x, NULL, 0, 0, &out), "77 is not the code of a reduction");
    WANT(BL_ARGUMENT, bl_builder_reduce_with(b, 77, 1, x, NULL, 0, 0, &out), "77 is not the code of a reduction");
    WANT(BL_ARGUMENT, bl_builder_reduce_with(b, BL_REDUCE_SUM, 1, x, NULL, 0, 0, &out), "has no parameter");
    WANT(BL_ARGUMENT, bl_builder_scan(b, 2, x, 0, 0, &out), "2 is not the code of a scan");
    WANT(BL_NULL, bl_builder_reduce(b, BL_REDUCE_SUM, x, NULL, 1, 0, &out), "axes is null");
    WANT(BL_NULL, bl_builder_reduce(b, BL_REDUCE_SUM, x, &one, 1, 0, NULL), "value is null");
    WANT(BL_MISALIGNED, bl_builder_reduce(b, BL_REDUCE_SUM, x, (const ptrdiff_t *)(const void *)((const char *)&one + 1), 1, 0, &out), "multiple");
    WANT(BL_HANDLE, bl_builder_reduce(b, BL_REDUCE_SUM, (bl_value){x.id + 9}, &one, 1, 0, &out), "another builder");
    WANT(BL_HANDLE, bl_builder_vecdot(b, x, (bl_value){0}, -1, &out), "another builder");
    WANT(BL_SHAPE, bl_builder_reduce(b, BL_REDUCE_SUM, open, &one, 1, 0, &out), "axis 1 is out of range");
    WANT(BL_SHAPE, bl_builder_reduce(b, BL_REDUCE_SUM, x, twice, 2, 0, &out), "axis 0 is named twice");
    WANT(BL_SHAPE, bl_builder_reduce(b, BL_REDUCE_MAX, x, &one, 1, 0, &out), "no elements");
    WANT(BL_SHAPE, bl_builder_vecdot(b, x, open, -1, &out), "vectors");
    OK(bl_builder_scan(b, BL_SCAN_SUM, open, 0, 1, &out));
    WANT(BL_SHAPE, bl_builder_scan(b, BL_SCAN_SUM, x, 2, 0, &out), "axis 2 is out of range");
    WANT(BL_DTYPE, bl_builder_reduce(b, BL_REDUCE_MEAN, counts, &one, 1, 0, &out), "does not take int8");
    WANT(BL_LITERAL, bl_builder_reduce_with(b, BL_REDUCE_VAR, NAN, x, &one, 1, 0, &out), "NaN");
    WANT(BL_LITERAL, bl_builder_reduce_with(b, BL_REDUCE_VECTOR_NORM, NAN, x, &one, 1, 0, &out), "NaN");
    OK(bl_builder_reduce_with(b, BL_REDUCE_VECTOR_NORM, INFINITY, open, NULL, 0, 1, &out));
    const size_t shape[] = {2, 3};
    bl_value key;
    OK(bl_builder_key(b, 7, &key));
    WANT(BL_NULL, bl_builder_key(b, 7, NULL), "value is null");
    WANT(BL_DTYPE, bl_builder_split(b, x, 2, &out), "the key is float32[");
    WANT(BL_LIMIT, bl_builder_split(b, key, (size_t)1 << 40, &out), "more than 2^32 - 1");
    WANT(BL_DTYPE, bl_builder_fold_in(b, key, x, &out), "not an integer");
    WANT(BL_NAME, bl_builder_draw(b, "norma", key, NULL, 0, shape, 2, BL_DTYPE_FLOAT64, &out), "there is no draw `norma`");
    WANT(BL_NULL, bl_builder_draw(b, NULL, key, NULL, 0, shape, 2, BL_DTYPE_FLOAT64, &out), "name of the draw is null");
    WANT(BL_NULL, bl_builder_draw(b, "normal", key, NULL, 0, NULL, 2, BL_DTYPE_FLOAT64, &out), "extents is null");
    WANT(BL_DTYPE, bl_builder_draw(b, "normal", key, NULL, 0, shape, 2, BL_DTYPE_FLOAT16, &out), "does not give float16");
    WANT(BL_ARITY, bl_builder_draw(b, "gamma", key, NULL, 0, shape, 2, BL_DTYPE_FLOAT64, &out), "takes 1 parameter, not 0");
    WANT(BL_SHAPE, bl_builder_draw(b, "gamma", key, &open, 1, shape, 2, BL_DTYPE_FLOAT64, &out), "the draw is [2,3]");
    OK(bl_builder_draw(b, "normal", key, NULL, 0, shape, 2, BL_DTYPE_FLOAT64, &out));
    WANT(BL_DTYPE, bl_builder_take(b, open, x, 0, &out), "indices are integers");
    WANT(BL_SHAPE, bl_builder_take(b, open, key, 1, &out), "axis 1 is out of range");
    WANT(BL_SHAPE, bl_builder_take_along_axis(b, x, key, 0, &out), "the indices have 1 axes");
    WANT(BL_NULL, bl_builder_gather(b, open, NULL, 1, 0, &out), "indices is null");
    WANT(BL_SHAPE, bl_builder_gather(b, open, &key, 0, 0, &out), "0 indices");
    WANT(BL_HANDLE, bl_builder_take(b, open, (bl_value){0}, 0, &out), "another builder");
    OK(bl_builder_gather(b, open, &key, 1, 0, &out));
    WANT(BL_SHAPE, bl_builder_sort(b, key, 1, 0, &out), "axis 1 is out of range");
    OK(bl_builder_argsort(b, key, -1, 1, &out));
    WANT(BL_SHAPE, bl_builder_topk(b, key, 5, 0, 1, &out), "topk: 5 of 4 elements");
    OK(bl_builder_topk_indices(b, key, 2, 0, 0, &out));
    WANT(BL_DTYPE, bl_builder_searchsorted(b, open, key, 0, &out), "searchsorted: uint32 in float32");
    WANT(BL_ARGUMENT, bl_builder_segment(b, 99, key, key, 3, &out), "99 is not the code of a reduction");
    WANT(BL_NAME, bl_builder_segment(b, BL_REDUCE_ARGMAX, key, key, 3, &out), "by label");
    WANT(BL_DTYPE, bl_builder_segment(b, BL_REDUCE_SUM, open, open, 3, &out), "labels are integers");
    OK(bl_builder_segment(b, BL_REDUCE_SUM, key, key, 3, &out));
    WANT(BL_LIMIT, bl_builder_segment_count(b, key, SIZE_MAX, &out), "segments or more");
    WANT(BL_DTYPE, bl_builder_histogram(b, open, key, &out), "between edges of uint32");
    WANT(BL_SHAPE, bl_builder_nonzero(b, key, 1, 4, -1, &out), "axis 1 of 1 axes");
    OK(bl_builder_nonzero(b, key, 0, 4, -1, &out));
    WANT(BL_DTYPE, bl_builder_compress(b, key, key, 0, 4, key, &out), "a fill value is uint32");
    WANT(BL_ARGUMENT, bl_builder_scatter(b, 5, key, key, key, &out), "5 is not the code of a scatter");
    WANT(BL_DTYPE, bl_builder_scatter(b, BL_SCATTER_ADD, key, key, key, &out), "positions are int64");
    static const size_t widths[] = {1, 2, 0, 1};
    const bl_value keys[] = {key, key};
    WANT(BL_NULL, bl_builder_concat(b, NULL, 2, 0, &out), "values is null");
    WANT(BL_ARITY, bl_builder_concat(b, keys, 0, 0, &out), "nothing to join");
    WANT(BL_SHAPE, bl_builder_concat(b, keys, 2, 1, &out), "axis 1 is out of range");
    WANT(BL_SHAPE, bl_builder_concat(b, &open, 1, 0, &out), "are open");
    OK(bl_builder_concat(b, keys, 2, 0, &out));
    WANT(BL_NULL, bl_builder_pad(b, key, NULL, 1, "edge", &out), "widths is null");
    WANT(BL_NULL, bl_builder_pad(b, key, widths, 1, NULL, &out), "name of the mode is null");
    WANT(BL_NAME, bl_builder_pad(b, key, widths, 1, "mirror", &out), "`mirror` is no mode");
    WANT(BL_SHAPE, bl_builder_pad(b, key, widths, 2, "edge", &out), "2 pairs of widths");
    OK(bl_builder_pad(b, key, widths, 1, "reflect", &out));
    WANT(BL_SHAPE, bl_builder_sliding_window(b, key, 5, 0, &out), "no 5 adjacent elements");
    OK(bl_builder_sliding_window(b, key, 3, 0, &out));
    WANT(BL_SHAPE, bl_builder_grad(b, x, x, &out), "has axes");
    WANT(BL_HANDLE, bl_builder_grad(b, x, (bl_value){0}, &out), "another builder");
    OK(bl_builder_release(b));
    WANT(BL_HANDLE, bl_builder_reduce(b, BL_REDUCE_SUM, x, NULL, 0, 0, &out), "was released");
}

/* Elements of a table that is an input, at indices that are another one. */
static void indices(void) {
    static const bl_dim n[] = {{"n", 0}}, m[] = {{"m", 0}};
    bl_builder b;
    bl_kernel kernel;
    bl_value table, at, taken;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "table", BL_DTYPE_FLOAT32, n, 1, &table));
    OK(bl_builder_input(b, "at", BL_DTYPE_INT16, m, 1, &at));
    OK(bl_builder_take(b, table, at, 0, &taken));
    OK(bl_builder_output(b, "taken", taken));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    const float values[4] = {1, 2, 4, 8};
    int16_t places[3] = {3, -4, 1};
    float out[3] = {0};
    const size_t four = 4, three = 3;
    const bl_view in[2] = {{.data = (void *)(uintptr_t)values, .dtype = BL_DTYPE_FLOAT32, .rank = 1, .shape = &four},
                           {.data = places, .dtype = BL_DTYPE_INT16, .rank = 1, .shape = &three}};
    const bl_view to = {.data = out, .dtype = BL_DTYPE_FLOAT32, .rank = 1, .shape = &three};
    OK(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
    if (out[0] != 8 || out[1] != 1 || out[2] != 2) failures++, printf("line %d: other elements\n", __LINE__);
    places[1] = 4;
    WANT(BL_INDEX, bl_kernel_run(kernel, in, 2, &to, 1, NULL), "index 4 is out of range for 4 elements, at [1]");
    OK(bl_kernel_release(kernel));
}

/* The gradient of a sum of squares with respect to an input. */
static void gradients(void) {
    static const bl_dim n[] = {{"n", 0}};
    static const ptrdiff_t all = 0;
    bl_builder b;
    bl_kernel kernel;
    bl_value x, squares, sum, gradient;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT64, n, 1, &x));
    OK(bl_builder_apply(b, "square", &x, 1, &squares));
    OK(bl_builder_reduce(b, BL_REDUCE_SUM, squares, &all, 1, 0, &sum));
    OK(bl_builder_grad(b, sum, x, &gradient));
    OK(bl_builder_output(b, "gradient", gradient));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    const double values[2] = {1.5, -4};
    double out[2] = {0};
    const size_t two = 2;
    const bl_view in = {.data = (void *)(uintptr_t)values, .dtype = BL_DTYPE_FLOAT64, .rank = 1, .shape = &two};
    const bl_view to = {.data = out, .dtype = BL_DTYPE_FLOAT64, .rank = 1, .shape = &two};
    OK(bl_kernel_run(kernel, &in, 1, &to, 1, NULL));
    if (out[0] != 3 || out[1] != -8) failures++, printf("line %d: another gradient\n", __LINE__);
    OK(bl_kernel_release(kernel));
}

static int destroyed;

static void destroy(void *context) {
    (void)context;
    destroyed++;
}

static int32_t halve(void *context, size_t elements, const void *const *inputs, void *output) {
    (void)context;
    for (size_t i = 0; i < elements; i++) ((float *)output)[i] = ((const float *)inputs[0])[i] / 2;
    return 0;
}

/* A host function that returns the status in its context, and writes nothing. */
static int32_t refuse(void *context, size_t elements, const void *const *inputs, void *output) {
    (void)elements, (void)inputs, (void)output;
    return *(const int32_t *)context;
}

/* A failing function, in every way to run it. If it fails while a kernel is built, no kernel is made. */
static void refusing(void) {
    static int32_t number = -3;
    const bl_dtype operands[] = {BL_DTYPE_FLOAT32};
    const bl_host_function description = {sizeof description, "refuse", operands, 1, BL_DTYPE_FLOAT32, 0, refuse, &number, NULL};
    bl_host host;
    bl_builder b;
    bl_value x, out;
    bl_kernel kernel;
    bl_call call;
    OK(bl_host_new(&description, &host));
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, N, 1, &x));
    OK(bl_builder_call(b, host, &x, 1, &out));
    OK(bl_builder_output(b, "out", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    OK(bl_host_release(host));
    float *from = calloc(1000000, sizeof *from), *to = calloc(1000000, sizeof *to);
    for (size_t n = 1; n <= 1000000; n *= 1000) {
        const void *in = from;
        void *rows = to;
        const bl_view x_view = view(from, BL_DTYPE_FLOAT32, &n, NULL, 1), to_view = view(to, BL_DTYPE_FLOAT32, &n, NULL, 1);
        const char *words = "refuse: the function returned status -3";
        OK(bl_kernel_bind(kernel, (bl_extent[]){{"n", n}}, 1, &call));
        WANT(BL_HOST, bl_kernel_run(kernel, &x_view, 1, &to_view, 1, NULL), words);
        WANT(BL_HOST, bl_call_run(call, &in, 1, &rows, 1), words);
        WANT(BL_HOST, bl_call_run_with(call, &in, 1, &rows, 1, NULL), words);
        WANT(BL_HOST, bl_call_run_range(call, 0, n, &in, 1, &rows, 1), words);
        number = 0;
        OK(bl_call_run(call, &in, 1, &rows, 1));
        number = -3;
        OK(bl_call_release(call));
    }
    free(from), free(to);
    OK(bl_kernel_release(kernel));
}

/* Host functions, and libraries, from which texts can call them. */
static void functions(void) {
    const bl_dtype operands[] = {BL_DTYPE_FLOAT32, BL_DTYPE_FLOAT32, BL_DTYPE_FLOAT32, 12};
    const bl_host_function good = {sizeof good, "halve", operands, 1, BL_DTYPE_FLOAT32, 0, halve, NULL, destroy};
    bl_host_function bad = good;
    bl_host host, twin;
    WANT(BL_NULL, bl_host_new(NULL, &host), "the description is null");
    WANT(BL_NULL, bl_host_new(&good, NULL), "the host function is null");
#define BAD(status, field, value, words) \
    bad = good, bad.field = value, want(bl_host_new(&bad, &host), status, words, __LINE__)
    BAD(BL_ARGUMENT, size, 8, "8 bytes");
    BAD(BL_NULL, name, NULL, "the name of the host function is null");
    BAD(BL_UTF8, name, "\xff", "not UTF-8");
    BAD(BL_NAME, name, "a b", "letters, digits");
    BAD(BL_NULL, operands, NULL, "the operands is null");
    BAD(BL_ARITY, operand_count, 0, "1 to 3 operands");
    BAD(BL_DTYPE, operand_count, 4, "12 is not the code of a dtype");
    BAD(BL_DTYPE, result, 12, "12 is not the code of a dtype");
    BAD(BL_NULL, function, NULL, "the pointer to the function is null");
    if (destroyed != 0) printf("a function that was refused does not own its context\n"), failures++;

    OK(bl_host_new(&good, &host));
    OK(bl_host_new(&good, &twin));
    bl_builder b;
    bl_value x, y, half, out, number;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT32, N, 1, &x));
    OK(bl_builder_input(b, "y", BL_DTYPE_FLOAT64, N, 1, &y));
    OK(bl_builder_call(b, host, &x, 1, &half));
    WANT(BL_DTYPE, bl_builder_call(b, host, &y, 1, &out), "operand 1 is float64");
    WANT(BL_ARITY, bl_builder_call(b, host, (bl_value[]){x, x}, 2, &out), "halve");
    WANT(BL_NULL, bl_builder_call(b, host, NULL, 1, &out), "values is null");
    WANT(BL_HANDLE, bl_builder_call(b, (bl_host){0}, &x, 1, &out), "the host function is 0");
    WANT(BL_HANDLE, bl_builder_call(b, (bl_host){b.id}, &x, 1, &out), "another kind");
    OK(bl_builder_float(b, 1e300, &number));
    WANT(BL_LITERAL, bl_builder_call(b, host, &number, 1, &out), "float32");

    bl_library library;
    bl_kernel kernel;
    WANT(BL_NULL, bl_library_new(NULL), "null");
    OK(bl_library_new(&library));
    OK(bl_library_register(library, host));
    WANT(BL_NAME, bl_library_register(library, twin), "halve");
    WANT(BL_HANDLE, bl_library_register(library, (bl_host){library.id}), "another kind");
    WANT(BL_NULL, bl_library_define(library, NULL, BL_NUL_TERMINATED), "the text is null");
    WANT(BL_NAME, bl_library_define(library, "def halve(x) = x", BL_NUL_TERMINATED), "halve");
    WANT(BL_SYNTAX, bl_library_define(library, "def f(x) = (", BL_NUL_TERMINATED), "");
    size_t start, end;
    OK(bl_last_error_span(&start, &end));
    if (start != 12) printf("the place is byte %zu\n", start), failures++;
    const char *text = "x: float32[n]; halve(x)";
    WANT(BL_NAME, bl_kernel_parse(text, BL_NUL_TERMINATED, NULL, &kernel), "halve");
    WANT(BL_HANDLE, bl_kernel_parse_with(text, BL_NUL_TERMINATED, (bl_library){host.id}, NULL, &kernel), "another kind");
    OK(bl_kernel_parse_with(text, BL_NUL_TERMINATED, library, NULL, &kernel));
    OK(bl_library_release(library));
    WANT(BL_HANDLE, bl_kernel_parse_with(text, BL_NUL_TERMINATED, library, NULL, &kernel), "the library was released");
    WANT(BL_HANDLE, bl_library_define(library, "def f(x) = x", BL_NUL_TERMINATED), "the library was released");
    WANT(BL_HANDLE, bl_library_release(library), "the library was released");

    OK(bl_host_retain(host));
    OK(bl_host_release(host));
    OK(bl_host_release(host));
    WANT(BL_HANDLE, bl_host_release(host), "the host function was released");
    WANT(BL_HANDLE, bl_host_retain(host), "the host function was released");
    OK(bl_host_release(twin));
    OK(bl_clear_caches());
    if (destroyed != 1) printf("the twin alone is unused: %d destroyed\n", destroyed), failures++;
    OK(bl_kernel_release(kernel));
    OK(bl_builder_release(b));
    OK(bl_clear_caches());
    if (destroyed != 2) printf("nobody has the functions: %d destroyed\n", destroyed), failures++;
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

static void running(void) {
    bl_kernel kernel = sum();
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {8, 7, 6, 5, 4, 3, 2, 1}, out[8];
    const size_t n[] = {4}, m[] = {3}, square[] = {2, 2}, huge[] = {(size_t)1 << 62};
    const ptrdiff_t twice[] = {0}, wide[] = {PTRDIFF_MAX};
    const bl_view fx = view(x, BL_DTYPE_FLOAT32, n, NULL, 1), fy = view(y, BL_DTYPE_FLOAT32, n, NULL, 1);
    const bl_view in[] = {fx, fy}, to = view(out, BL_DTYPE_FLOAT32, n, NULL, 1);
    OK(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
    WANT(BL_ARITY, bl_kernel_run(kernel, in, 1, &to, 1, NULL), "not 1");
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

    /* If an output overlaps an input, the run reads every element before overwriting it, or returns an error. */
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
    bl_kernel next = sum(); /* the new handle has the released handle's index */
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
    OK(bl_kernel_release(kernel)); /* the call keeps the kernel */
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

/* Threads use a kernel while another thread releases it: each use succeeds, or returns BL_HANDLE. */
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
    loops();
    scans();
    views();
    reductions();
    indices();
    gradients();
    functions();
    refusing();
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
