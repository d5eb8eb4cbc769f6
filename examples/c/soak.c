/* Makes many calls of each group of functions of the C ABI, and prints by how much the process grew after the first tenth of the calls.
 *
 *     soak [CALLS]
 *
 * Groups that plan or compile at each call get a hundredth of the calls. Exit status 1 means that the process grew by more than 8 MB during
 * a group, which is a leak of 9 bytes per call in a million calls. Memory is read from /proc; without it, only the statuses are checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "broadloom.h"

enum { N = 100 };

static double x[N], y[N], out[N];
static bl_kernel kernel;
static bl_call call;
static bl_flag flag;

static void ok(bl_status status) {
    if (status == BL_OK) return;
    printf("%s: %s\n", bl_status_name(status), bl_last_error());
    exit(1);
}

static void refused(bl_status status) {
    if (status != BL_OK) return;
    printf("a misuse succeeded\n");
    exit(1);
}

static long resident(void) {
    long total = 0, pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return 0;
    if (fscanf(statm, "%ld %ld", &total, &pages) != 2) pages = 0;
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

static bl_view view(double *data, const size_t *shape) {
    return (bl_view){.data = data, .shape = shape, .rank = 1, .dtype = BL_DTYPE_FLOAT64};
}

static void runs_of_kernels(long i) {
    const size_t n = (size_t)(1 + i % N);
    const bl_view in[] = {view(x, &n), view(y, &n)}, to = view(out, &n);
    ok(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
}

static void runs_of_calls(long i) {
    const void *in[] = {x, y};
    void *to[] = {out};
    (void)i;
    ok(bl_call_run(call, in, 2, to, 1));
}

static void watched_runs(long i) {
    const void *in[] = {x, y};
    void *to[] = {out};
    const bl_control control = {.size = sizeof control, .cancel = flag};
    (void)i;
    ok(bl_call_run_with(call, in, 2, to, 1, &control));
}

static void bound_calls(long i) {
    bl_call made;
    const void *in[] = {x, y};
    void *to[] = {out};
    ok(bl_kernel_bind(kernel, (bl_extent[]){{"n", (size_t)(1 + i % N)}}, 1, &made));
    ok(bl_call_run(made, in, 2, to, 1));
    ok(bl_call_release(made));
}

static void built_kernels(long i) {
    bl_builder b;
    bl_value a, number, sum;
    bl_kernel made;
    ok(bl_builder_new(NULL, &b));
    ok(bl_builder_input(b, "a", BL_DTYPE_FLOAT64, (bl_dim[]){{"n", 0}}, 1, &a));
    ok(bl_builder_int(b, i, &number));
    ok(bl_builder_apply(b, "add", (bl_value[]){a, number}, 2, &sum));
    ok(bl_builder_output(b, "sum", sum));
    ok(bl_builder_compile(b, &made));
    ok(bl_builder_release(b));
    const size_t n = N;
    const bl_view in = view(x, &n), to = view(out, &n);
    ok(bl_kernel_run(made, &in, 1, &to, 1, NULL));
    ok(bl_kernel_release(made));
}

static void parsed_texts(long i) {
    char text[100];
    bl_kernel made;
    snprintf(text, sizeof text, "a: float64[n]; return a * %ld + 1", i);
    ok(bl_kernel_parse(text, BL_NUL_TERMINATED, NULL, &made));
    ok(bl_kernel_release(made));
}

static void handles(long i) {
    bl_flag made;
    bl_library library;
    (void)i;
    ok(bl_flag_new(&made));
    ok(bl_flag_release(made));
    ok(bl_library_new(&library));
    ok(bl_library_release(library));
    ok(bl_kernel_retain(kernel));
    ok(bl_kernel_release(kernel));
}

static void misuses(long i) {
    const size_t n = 3, m = 4;
    const bl_view in[] = {view(x, &n), view(y, &m)}, to = view(out, &n);
    bl_kernel made;
    (void)i;
    refused(bl_kernel_run(kernel, in, 2, &to, 1, NULL));
    refused(bl_kernel_parse("a: float64[n]; return a +", BL_NUL_TERMINATED, NULL, &made));
    refused(bl_kernel_release((bl_kernel){call.id}));
}

static const struct {
    const char *name;
    void (*face)(long);
    long fewer;
} faces[] = {{"bl_kernel_run", runs_of_kernels, 1}, {"bl_call_run", runs_of_calls, 1}, {"bl_call_run_with", watched_runs, 1},
    {"bl_kernel_bind", bound_calls, 10}, {"handles", handles, 1}, {"misuses", misuses, 10}, {"builders", built_kernels, 100},
    {"texts", parsed_texts, 100}};

int main(int count, char **words) {
    const long calls = count > 1 ? strtol(words[1], NULL, 0) : 10000;
    int failed = 0;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
    ok(bl_kernel_parse("x: float64[n]; y: float64[n]; return out = x * y + 1", BL_NUL_TERMINATED, NULL, &kernel));
    ok(bl_kernel_bind(kernel, (bl_extent[]){{"n", N}}, 1, &call));
    ok(bl_flag_new(&flag));
    for (size_t f = 0; f < sizeof faces / sizeof *faces; f++) {
        const long n = calls / faces[f].fewer;
        long before = 0;
        for (long i = 0; i < n; i++) {
            if (i == n / 10) before = resident();
            faces[f].face(i);
        }
        const long grown = resident() - before;
        if (before > 0 && grown > 8000000) failed = 1;
        printf("%-18s %8ld calls, grown by %6ld KiB\n", faces[f].name, n, grown / 1024);
    }
    ok(bl_flag_release(flag));
    ok(bl_call_release(call));
    ok(bl_kernel_release(kernel));
    return failed;
}
