// Times vector functions alternately on arrays in cache. scripts/compare_functions.py compiles this program against broadloom.h.
//
// Each input line is a comparison: dtype, vector width in bits, number of arguments, the ends of both arguments' ranges, and the
// contenders. A contender is `ours=EXPRESSION`, in x and y, or `PATH=SYMBOL`, a function of one or two vectors in a library. The
// program prints the minimum time of each contender in ns per element, in order, or `-` if it is missing.
#include <broadloom.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 100000, CONTENDERS = 16, LINE = 4096 };

typedef void loop(void *function, const void *x, const void *y, void *out);

// Defines the loops for a vector type, which call a function of one or of two vectors through a pointer.
#define LOOPS(name, element, bytes, isa)                                                                                    \
    typedef element name __attribute__((vector_size(bytes), aligned(sizeof(element))));                                     \
    __attribute__((target(isa))) static void name##_unary(void *function, const void *x, const void *y, void *out) {        \
        name (*f)(name) = (name (*)(name))function;                                                                         \
        (void)y;                                                                                                            \
        for (size_t i = 0; i < ELEMENTS * sizeof(element) / bytes; i++) ((name *)out)[i] = f(((const name *)x)[i]);         \
    }                                                                                                                       \
    __attribute__((target(isa))) static void name##_binary(void *function, const void *x, const void *y, void *out) {       \
        name (*f)(name, name) = (name (*)(name, name))function;                                                             \
        for (size_t i = 0; i < ELEMENTS * sizeof(element) / bytes; i++)                                                     \
            ((name *)out)[i] = f(((const name *)x)[i], ((const name *)y)[i]);                                               \
    }
LOOPS(float8, float, 32, "avx2,fma")
LOOPS(float16, float, 64, "avx512f")
LOOPS(double4, double, 32, "avx2,fma")
LOOPS(double8, double, 64, "avx512f")

static loop *const loops[2][2][2] = {
    {{float8_unary, float8_binary}, {float16_unary, float16_binary}},
    {{double4_unary, double4_binary}, {double8_unary, double8_binary}},
};

typedef struct {
    loop *run;
    void *function;
    bl_call call;
    int arguments;
    double least;
} contender;

static void check(bl_status status) {
    if (status == BL_OK) return;
    fprintf(stderr, "error: %s\n", bl_last_error());
    exit(1);
}

static bl_call compile(const char *expression, const char *dtype, int bits, int arguments) {
    char program[LINE];
    const char *second = arguments == 2 ? "; y: " : "";
    snprintf(program, sizeof program, "x: %s[n]%s%s%s; return out = %s", dtype, second, arguments == 2 ? dtype : "",
             arguments == 2 ? "[n]" : "", expression);
    bl_options options = {.size = sizeof options};
    check(bl_options_init(&options));
    options.executor = BL_EXECUTOR_JIT;
    options.vector_width = (uint32_t)bits;
    options.threads = 1;
    bl_kernel kernel;
    bl_call call;
    check(bl_kernel_parse(program, BL_NUL_TERMINATED, &options, &kernel));
    check(bl_kernel_bind(kernel, &(bl_extent){"n", ELEMENTS}, 1, &call));
    check(bl_call_compile(call));
    return call;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void run(const contender *c, const void *x, const void *y, void *out) {
    if (c->run) {
        c->run(c->function, x, y, out);
    } else {
        const void *inputs[] = {x, y};
        check(bl_call_run(c->call, inputs, (size_t)c->arguments, &out, 1));
    }
}

// Fills an array with uniformly distributed numbers in a range; `state` is the seed.
static void fill(void *to, uint64_t state, int is_double, double low, double high) {
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double x = low + (high - low) * ((double)(state >> 11) / 9007199254740992.0);
        if (is_double) ((double *)to)[i] = x;
        else ((float *)to)[i] = (float)x;
    }
}

static void *memory(void) {
    void *to = aligned_alloc(64, ELEMENTS * sizeof(double));
    if (!to) exit(1);
    return to;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    void *x = memory(), *y = memory(), *out = memory();
    char line[LINE];
    while (fgets(line, sizeof line, stdin)) {
        char dtype[16];
        int bits, arguments, at;
        double low[2], high[2];
        if (sscanf(line, "%15s %d %d %lf %lf %lf %lf %n", dtype, &bits, &arguments, low, high, low + 1, high + 1, &at) != 7) return 1;
        int is_double = strcmp(dtype, "float64") == 0;
        fill(x, 1, is_double, low[0], high[0]);
        fill(y, 2022, is_double, low[1], high[1]);
        contender all[CONTENDERS];
        int count = 0;
        for (char *word = strtok(line + at, " \n"); word && count < CONTENDERS; word = strtok(NULL, " \n")) {
            contender *c = &all[count++];
            char *symbol = strchr(word, '=');
            if (!symbol) return 1;
            *symbol++ = 0;
            *c = (contender){.arguments = arguments, .least = 1e300};
            if (strcmp(word, "ours") == 0) {
                c->arguments = strchr(symbol, 'y') ? 2 : 1;
                c->call = compile(symbol, dtype, bits, c->arguments);
            } else {
                void *library = dlopen(word, RTLD_NOW | RTLD_GLOBAL);
                c->function = library ? dlsym(library, symbol) : NULL;
                c->run = loops[is_double][bits == 512][arguments - 1];
            }
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < count; i++) {
                contender *c = &all[i];
                if (c->run && !c->function) continue;
                double start = now();
                run(c, x, y, out);
                double time = now() - start;
                if (time < c->least) c->least = time;
            }
        }
        for (int i = 0; i < count; i++) {
            if (all[i].run && !all[i].function) printf("- ");
            else printf("%.5f ", all[i].least / ELEMENTS);
            if (!all[i].run) check(bl_call_release(all[i].call));
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
