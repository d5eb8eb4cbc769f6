/* Reductions from C, for images of any size: the mean and the standard deviation of bands, the largest pixel, and a softmax. */
#include "checked.h"

#include <inttypes.h>
#include <math.h>
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

static bl_view view(void *data, bl_dtype dtype, const size_t *shape, uint32_t rank) {
    return (bl_view){.data = data, .shape = shape, .strides = NULL, .rank = rank, .dtype = dtype};
}

/* Statistics of each band of an image, and the index of the largest pixel of all bands. */
static bl_kernel statistics(void) {
    const bl_dim image[] = {{"bands", 0}, {"rows", 0}, {"columns", 0}};
    const ptrdiff_t pixels[] = {-2, -1};
    bl_builder b;
    bl_kernel kernel;
    bl_value x, mean, deviation, counted, largest;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "image", BL_DTYPE_FLOAT32, image, 3, &x));
    OK(bl_builder_reduce(b, BL_REDUCE_MEAN, x, pixels, 2, 0, &mean));
    OK(bl_builder_reduce_with(b, BL_REDUCE_STD, 1, x, pixels, 2, 0, &deviation)); /* with the sample's correction, 1 */
    OK(bl_builder_reduce(b, BL_REDUCE_COUNT_NONZERO, x, pixels, 2, 0, &counted));
    OK(bl_builder_reduce(b, BL_REDUCE_ARGMAX, x, NULL, 0, 0, &largest));
    OK(bl_builder_output(b, "mean", mean));
    OK(bl_builder_output(b, "deviation", deviation));
    OK(bl_builder_output(b, "counted", counted));
    OK(bl_builder_output(b, "largest", largest));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

static void bands(void) {
    enum { BANDS = 3, ROWS = 70, COLUMNS = 50, PIXELS = ROWS * COLUMNS };
    static float image[BANDS][ROWS][COLUMNS];
    for (int band = 0; band < BANDS; band++)
        for (int i = 0; i < PIXELS; i++) image[band][i / COLUMNS][i % COLUMNS] = (float)(i % 8 * (band + 1));
    image[1][6][5] = 1000;

    bl_kernel kernel = statistics();
    float mean[BANDS], deviation[BANDS];
    int64_t counted[BANDS], largest;
    const size_t shape[] = {BANDS, ROWS, COLUMNS}, each[] = {BANDS};
    const bl_view in = view(image, BL_DTYPE_FLOAT32, shape, 3);
    const bl_view out[] = {
        view(mean, BL_DTYPE_FLOAT32, each, 1),
        view(deviation, BL_DTYPE_FLOAT32, each, 1),
        view(counted, BL_DTYPE_INT64, each, 1),
        view(&largest, BL_DTYPE_INT64, NULL, 0),
    };
    OK(bl_kernel_run(kernel, &in, 1, out, 4, NULL));
    for (int band = 0; band < BANDS; band++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < PIXELS; i++) sum += image[band][i / COLUMNS][i % COLUMNS];
        for (int i = 0; i < PIXELS; i++) squares += pow(image[band][i / COLUMNS][i % COLUMNS] - sum / PIXELS, 2);
        const double expected = sqrt(squares / (PIXELS - 1));
        EXPECT(fabs(mean[band] - sum / PIXELS) <= 1e-6 * sum && fabs(deviation[band] - expected) <= 1e-6 * expected);
        printf("band %d: %.3f ± %.3f, %" PRId64 " pixels are not 0\n", band, mean[band], deviation[band], counted[band]);
    }
    EXPECT(largest == PIXELS + 6 * COLUMNS + 5);

    /* Without pixels, the means would be NaN, but there is no largest pixel, which is an error. */
    const size_t nothing[] = {BANDS, 0, COLUMNS};
    const bl_view empty = view(NULL, BL_DTYPE_FLOAT32, nothing, 3);
    EXPECT(bl_kernel_run(kernel, &empty, 1, out, 4, NULL) == BL_SHAPE);
    printf("of nothing: %s\n", bl_last_error());
    OK(bl_kernel_release(kernel));
}

/* exp(x - max(x)) / sum(exp(x - max(x))) along the rows, for any number and length of rows. */
static void softmax(void) {
    const bl_dim matrix[] = {{"n", 0}, {"m", 0}};
    const ptrdiff_t last = -1;
    bl_builder b;
    bl_kernel kernel;
    bl_value x, most, shifted, e, total, out;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_FLOAT64, matrix, 2, &x));
    OK(bl_builder_reduce(b, BL_REDUCE_MAX, x, &last, 1, 1, &most));
    OK(bl_builder_apply(b, "subtract", (bl_value[]){x, most}, 2, &shifted));
    OK(bl_builder_apply(b, "exp", &shifted, 1, &e));
    OK(bl_builder_reduce(b, BL_REDUCE_SUM, e, &last, 1, 1, &total));
    OK(bl_builder_apply(b, "divide", (bl_value[]){e, total}, 2, &out));
    OK(bl_builder_output(b, "softmax", out));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));

    bl_call call;
    const bl_extent extents[] = {{"n", 2}, {"m", 3}};
    OK(bl_kernel_bind(kernel, extents, 2, &call));
    const double rows[2][3] = {{1000, 1000, 1000}, {0, 0, -1000}};
    double result[2][3];
    const void *in = rows;
    void *to = result;
    OK(bl_call_run(call, &in, 1, &to, 1));
    const double want[2][3] = {{1.0 / 3, 1.0 / 3, 1.0 / 3}, {0.5, 0.5, 0}};
    EXPECT(memcmp(result, want, sizeof want) == 0);
    printf("softmax: %g %g %g / %g %g %g\n", result[0][0], result[0][1], result[0][2], result[1][0], result[1][1], result[1][2]);
    OK(bl_call_release(call));
    OK(bl_kernel_release(kernel));
}

/* A cumulative sum and a cumulative product of a series, and its inner product with another series. */
static void scans(void) {
    const bl_dim days[] = {{NULL, 4}};
    bl_builder b;
    bl_kernel kernel;
    bl_value x, y, balance, product, dot;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "x", BL_DTYPE_INT32, days, 1, &x));
    OK(bl_builder_input(b, "y", BL_DTYPE_INT32, days, 1, &y));
    OK(bl_builder_scan(b, BL_SCAN_SUM, x, 0, 1, &balance));
    OK(bl_builder_scan(b, BL_SCAN_PROD, x, -1, 0, &product));
    OK(bl_builder_vecdot(b, x, y, -1, &dot));
    OK(bl_builder_output(b, "balance", balance));
    OK(bl_builder_output(b, "product", product));
    OK(bl_builder_output(b, "dot", dot));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));

    const int32_t from[4] = {5, -2, 7, 1}, with[4] = {1, 10, 100, 1000};
    int64_t so_far[5], products[4];
    int32_t inner;
    bl_call call;
    OK(bl_kernel_bind(kernel, NULL, 0, &call));
    const void *in[] = {from, with};
    void *out[] = {so_far, products, &inner};
    OK(bl_call_run(call, in, 2, out, 3));
    const int64_t sums[5] = {0, 5, 3, 10, 11}, wanted[4] = {5, -10, -70, -70};
    EXPECT(memcmp(so_far, sums, sizeof sums) == 0 && memcmp(products, wanted, sizeof wanted) == 0 && inner == 1685);
    printf("scans: the last balance is %" PRId64 ", the inner product %" PRId32 "\n", so_far[4], inner);
    OK(bl_call_release(call));
    OK(bl_kernel_release(kernel));
}

int main(void) {
    bands();
    softmax();
    scans();
    return 0;
}
