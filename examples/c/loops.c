/* Loops of elements from C: the Mandelbrot set, by the builder and by a text, compared with a loop in C; and a scan along its
 * rows. */
#include "checked.h"

#include <inttypes.h>
#include <stdio.h>

enum { ROWS = 24, COLUMNS = 64, LIMIT = 100 };

/* Counts the iterations of z = z*z + c that stay within the circle of radius 2: one call per operation. */
static bl_kernel built(void) {
    const bl_dim shape[] = {{"rows", 0}, {"columns", 0}};
    bl_builder b;
    bl_kernel kernel;
    bl_value cx, cy, start[3], z[3], last[3], one, two, four;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "cx", BL_DTYPE_FLOAT64, shape, 2, &cx));
    OK(bl_builder_input(b, "cy", BL_DTYPE_FLOAT64, shape, 2, &cy));
    OK(bl_builder_float(b, 0, &start[0]));
    OK(bl_builder_float(b, 0, &start[1]));
    OK(bl_builder_int(b, 0, &start[2]));
    OK(bl_builder_int(b, 1, &one));
    OK(bl_builder_float(b, 2, &two));
    OK(bl_builder_float(b, 4, &four));

    OK(bl_builder_loop_begin(b, start, 3, z));
    const bl_value xx = apply(b, "multiply", z[0], z[0]), yy = apply(b, "multiply", z[1], z[1]);
    OK(bl_builder_loop_condition(b, apply(b, "less_equal", apply(b, "add", xx, yy), four)));
    const bl_value next[] = {
        apply(b, "add", apply(b, "subtract", xx, yy), cx),
        apply(b, "add", apply(b, "multiply", apply(b, "multiply", two, z[0]), z[1]), cy),
        apply(b, "add", z[2], one),
    };
    OK(bl_builder_loop_end(b, next, 3, LIMIT, last));

    OK(bl_builder_output(b, "n", last[2]));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

/* The same as a text. */
static bl_kernel parsed(void) {
    static const char text[] =
        "cx: float64[rows, columns]; cy: float64[rows, columns]\n"
        "x, y, n = while (x = 0.0, y = 0.0, n = 0; x*x + y*y <= 4) limit 100 {\n"
        "  next = x*x - y*y + cx\n"
        "  y = 2*x*y + cy\n"
        "  x = next\n"
        "  n = n + 1\n"
        "}\n"
        "return n\n";
    bl_kernel kernel;
    OK(bl_kernel_parse(text, BL_NUL_TERMINATED, NULL, &kernel));
    return kernel;
}

/* An average that follows the weights of the counts, from a table, along each row, from the last column to the first; and the largest
 * count of each row. */
static bl_kernel scanned(void) {
    const bl_dim shape[] = {{"rows", 0}, {"columns", 0}}, extent = {NULL, LIMIT + 1};
    bl_builder b;
    bl_kernel kernel;
    bl_value n, weights, zero, half, mean, count, weight, last, means, none, left, right, largest;
    OK(bl_builder_new(NULL, &b));
    OK(bl_builder_input(b, "n", BL_DTYPE_INT64, shape, 2, &n));
    OK(bl_builder_input(b, "weights", BL_DTYPE_FLOAT64, &extent, 1, &weights));
    OK(bl_builder_float(b, 0, &zero));
    OK(bl_builder_float(b, 0.5, &half));

    OK(bl_builder_scan_begin(b, &zero, 1, &n, 1, 1, BL_STEPS_BACKWARD, 0, &mean, &count));
    OK(bl_builder_take(b, weights, count, 0, &weight));
    const bl_value next = apply(b, "multiply", apply(b, "add", mean, weight), half);
    OK(bl_builder_scan_end(b, &next, 1, &next, 1, &last, &means));

    OK(bl_builder_int(b, -1, &none));
    OK(bl_builder_scan_begin(b, &none, 1, &n, 1, 1, BL_STEPS_IN_PAIRS, 0, &left, &right));
    const bl_value larger = apply(b, "maximum", left, right);
    OK(bl_builder_scan_end(b, &larger, 1, NULL, 0, &largest, NULL));

    OK(bl_builder_output(b, "last", last));
    OK(bl_builder_output(b, "means", means));
    OK(bl_builder_output(b, "largest", largest));
    OK(bl_builder_compile(b, &kernel));
    OK(bl_builder_release(b));
    return kernel;
}

static int64_t iterations(double cx, double cy) {
    double x = 0, y = 0;
    int64_t n = 0;
    for (; n < LIMIT && x * x + y * y <= 4; n++) {
        const double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    return n;
}

int main(void) {
    static double cx[ROWS][COLUMNS], cy[ROWS][COLUMNS];
    static int64_t n[ROWS][COLUMNS];
    const size_t shape[] = {ROWS, COLUMNS};
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            cx[row][column] = -2.25 + 3.0 * column / COLUMNS;
            cy[row][column] = -1.25 + 2.5 * row / ROWS;
        }
    const bl_view inputs[] = {
        {.data = cx, .shape = shape, .rank = 2, .dtype = BL_DTYPE_FLOAT64},
        {.data = cy, .shape = shape, .rank = 2, .dtype = BL_DTYPE_FLOAT64},
    };
    const bl_view output = {.data = n, .shape = shape, .rank = 2, .dtype = BL_DTYPE_INT64};
    const bl_kernel kernels[] = {built(), parsed()};
    for (int k = 0; k < 2; k++) {
        OK(bl_kernel_run(kernels[k], inputs, 2, &output, 1, NULL));
        OK(bl_kernel_release(kernels[k]));
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLUMNS; column++)
                if (n[row][column] != iterations(cx[row][column], cy[row][column])) {
                    fprintf(stderr, "row %d, column %d: %" PRId64 "\n", row, column, n[row][column]);
                    return 1;
                }
    }
    static double last[ROWS], means[ROWS][COLUMNS], weights[LIMIT + 1];
    static int64_t largest[ROWS];
    const bl_view results[] = {
        {.data = last, .shape = shape, .rank = 1, .dtype = BL_DTYPE_FLOAT64},
        {.data = means, .shape = shape, .rank = 2, .dtype = BL_DTYPE_FLOAT64},
        {.data = largest, .shape = shape, .rank = 1, .dtype = BL_DTYPE_INT64},
    };
    const size_t extent = LIMIT + 1;
    for (int i = 0; i <= LIMIT; i++) weights[i] = i * 0.25 - 3;
    const bl_view of_scan[] = {output, {.data = weights, .shape = &extent, .rank = 1, .dtype = BL_DTYPE_FLOAT64}};
    const bl_kernel scan = scanned();
    OK(bl_kernel_run(scan, of_scan, 2, results, 3, NULL));
    OK(bl_kernel_release(scan));
    for (int row = 0; row < ROWS; row++) {
        double mean = 0;
        int64_t most = -1;
        for (int column = COLUMNS; column-- > 0;) {
            most = n[row][column] > most ? n[row][column] : most;
            mean = (mean + weights[n[row][column]]) * 0.5;
            if (means[row][column] != mean) {
                fprintf(stderr, "row %d, column %d: %g\n", row, column, means[row][column]);
                return 1;
            }
        }
        if (last[row] != mean || largest[row] != most) {
            fprintf(stderr, "row %d: %g\n", row, last[row]);
            return 1;
        }
    }
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) putchar(" .:-=+*#%@"[n[row][column] * 9 / LIMIT]);
        putchar('\n');
    }
    return 0;
}
