/* Random numbers from C: π by counting points in a quarter of a circle, in one pass that stores no point. */
#include "checked.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { POINTS = 1 << 20 };

/* The share of the points of a key that are in the circle. The key is an input, so that one kernel serves every seed. */
static bl_kernel share(void) {
    static const bl_dim words[] = {{NULL, 4}};
    static const size_t shape[] = {POINTS};
    bl_builder b;
    bl_kernel kernel;
    bl_value key, number, one, part, square[2], inside, mean;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "key", BL_DTYPE_UINT32, words, 1, &key));
    for (int i = 0; i < 2; i++) {
        bl_value coordinate;
        OK(bl_builder_int(b, i, &number));
        OK(bl_builder_fold_in(b, key, number, &part));
        OK(bl_builder_draw(b, "uniform", part, NULL, 0, shape, 1, BL_DTYPE_FLOAT64, &coordinate));
        square[i] = apply(b, "multiply", coordinate, coordinate);
    }
    OK(bl_builder_int(b, 1, &one));
    OK(bl_builder_cast(b, apply(b, "less", apply(b, "add", square[0], square[1]), one), BL_DTYPE_FLOAT64, &inside));
    OK(bl_builder_reduce(b, BL_REDUCE_MEAN, inside, NULL, 0, 0, &mean));
    OK(bl_builder_output(b, "share", mean));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

/* The share of a seed's points. */
static double of_seed(bl_kernel kernel, uint32_t seed) {
    const uint32_t words[4] = {seed, 0, 0, 0};
    const size_t four = 4;
    double share = 0;
    const bl_view in = {.data = (void *)(uintptr_t)words, .dtype = BL_DTYPE_UINT32, .rank = 1, .shape = &four};
    const bl_view out = {.data = &share, .dtype = BL_DTYPE_FLOAT64};
    OK(bl_kernel_run(kernel, &in, 1, &out, 1, NULL));
    return share;
}

int main(void) {
    const bl_kernel kernel = share();
    for (uint32_t seed = 0; seed < 4; seed++) {
        const double pi = 4 * of_seed(kernel, seed);
        printf("seed %u: pi is about %.4f\n", seed, pi);
        /* Five standard deviations of the mean of so many points. */
        if (fabs(pi - 3.14159265358979) > 5 * 1.65 / sqrt(POINTS) || of_seed(kernel, seed) * 4 != pi) return 1;
    }
    OK(bl_kernel_release(kernel));
    return 0;
}
