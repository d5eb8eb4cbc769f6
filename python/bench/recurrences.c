// Loops of elements and recurrences in C, one element at a time and with AVX2. The type T and the other constants come
// from recurrences.py. Every operation is rounded once (-ffp-contract=off), so that results have the bits of the other
// contenders.
//
// Vectors are written with gcc's operators, which stand for the same instructions as the intrinsics: gcc's header
// defines _mm256_add_pd(a, b) as a + b.

#include <math.h>
#include <stdint.h>

static inline int64_t escape(T cx, T cy) {
    T x = 0, y = 0;
    int64_t n = 0;
    while (n < LIMIT && x * x + y * y <= 4) {
        T next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        n++;
    }
    return n;
}

void mandelbrot(const T *restrict cx, const T *restrict cy, int64_t *restrict out, long rows, long columns) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) out[i * columns + j] = escape(cx[j], cy[i]);
}

static inline T root_of(T a) {
    T x = a;
    while (fabs(x * x - a) > a * (T)1e-14) x = (x + a / x) * (T)0.5;
    return x;
}

void root(const T *restrict a, T *restrict out, long n) {
    for (long i = 0; i < n; i++) out[i] = root_of(a[i]);
}

void volatility(const T *restrict price, const T *restrict strike, const T *restrict years, T *restrict out, long n) {
    for (long i = 0; i < n; i++) {
        T root = sqrt(years[i]), discounted = strike[i] * exp(-RATE * years[i]), forward = log(100 / discounted);
        T sigma = sqrt(2 * fabs(forward) / years[i]);
        for (int k = 0; k < STEPS; k++) {
            T d1 = forward / (sigma * root) + 0.5 * sigma * root, d2 = d1 - sigma * root;
            T error = 50 * erfc(-d1 * ROOT_OF_HALF) - 0.5 * discounted * erfc(-d2 * ROOT_OF_HALF) - price[i];
            if (fabs(error) < 1e-10) break;
            sigma -= error / (100 * root * exp(-0.5 * d1 * d1) * DENSITY);
        }
        out[i] = sigma;
    }
}

static inline T sum_of(T a) {
    T total = 0;
    for (int k = 0; k < ADDITIONS; k++) total += a;
    return total;
}

void additions(const T *restrict a, T *restrict out, long n) {
    for (long i = 0; i < n; i++) out[i] = sum_of(a[i]);
}

void average(const T *restrict x, T *restrict out, long n) {
    T mean = 0;
    for (long i = 0; i < n; i++) out[i] = mean = (T)0.9 * mean + (T)0.1 * x[i];
}

void average_columns(const T *restrict x, T *restrict out, long rows, long columns) {
    for (long j = 0; j < columns; j++) out[j] = (T)0.1 * x[j];
    for (long i = 1; i < rows; i++)
        for (long j = 0; j < columns; j++)
            out[i * columns + j] = (T)0.9 * out[(i - 1) * columns + j] + (T)0.1 * x[i * columns + j];
}

void biquad(const T *restrict x, T *restrict out, long n) {
    T first = 0, second = 0;
    for (long i = 0; i < n; i++) {
        T y = (T)B0 * x[i] + first;
        first = second + (T)B1 * x[i] - (T)A1 * y;
        second = (T)B2 * x[i] - (T)A2 * y;
        out[i] = y;
    }
}

void biquad_columns(const T *restrict x, T *restrict out, long rows, long columns) {
    T first[columns], second[columns];
    for (long j = 0; j < columns; j++) first[j] = second[j] = 0;
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            T given = x[i * columns + j], y = (T)B0 * given + first[j];
            first[j] = second[j] + (T)B1 * given - (T)A1 * y;
            second[j] = (T)B2 * given - (T)A2 * y;
            out[i * columns + j] = y;
        }
}

#ifdef __AVX2__
#include <immintrin.h>

typedef T Vector __attribute__((vector_size(32)));
// The result of a comparison: all bits of a lane are set where it holds.
typedef __typeof__(_Generic((T)0, float: (int32_t)0, double: (int64_t)0)) Mask __attribute__((vector_size(32)));
enum { LANES = sizeof(Vector) / sizeof(T) };

typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
static inline Vector load(const T *from) { return *(const Unaligned *)from; }
static inline void store(T *to, Vector value) { *(Unaligned *)to = value; }
// Subtracting 0 keeps the sign of a zero.
static inline Vector all(T value) { return value - (Vector){}; }
static inline int any(Mask mask) { return _mm256_movemask_ps((__m256)mask); }
static inline Vector blend(Mask mask, Vector yes, Vector no) {
    return (Vector)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)mask);
}

// One vector, with a mask of the lanes that iterate. Nothing but the counts is used afterwards, so the lanes that are
// done need not keep their values.
void mandelbrot_vectors(const T *restrict cx, const T *restrict cy, int64_t *restrict out, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        long j = 0;
        for (; j + LANES <= columns; j += LANES) {
            Vector x = {}, y = {}, real = load(cx + j), imaginary = all(cy[i]), four = all(4);
            Mask n = {}, active = ~(Mask){};
            for (int k = 0; k < LIMIT; k++) {
                Vector xx = x * x, yy = y * y;
                active &= xx + yy <= four;
                if (!any(active)) break;
                n -= active;
                y = 2 * x * y + imaginary;
                x = xx - yy + real;
            }
            for (int lane = 0; lane < LANES; lane++) out[i * columns + j + lane] = n[lane];
        }
        for (; j < columns; j++) out[i * columns + j] = escape(cx[j], cy[i]);
    }
}

// One vector, with a mask of the lanes that iterate.
void root_vectors(const T *restrict a, T *restrict out, long n) {
    long i = 0;
    for (; i + LANES <= n; i += LANES) {
        Vector given = load(a + i), x = given, most = given * (T)1e-14;
        Mask active = ~(Mask){};
        for (;;) {
            Vector difference = x * x - given;
            active &= (difference > most) | (difference < -most);
            if (!any(active)) break;
            x = blend(active, (x + given / x) * (T)0.5, x);
        }
        store(out + i, x);
    }
    for (; i < n; i++) out[i] = root_of(a[i]);
}

// Four vectors at a time, so that the latency of an addition is hidden by those of the other vectors.
void additions_vectors(const T *restrict a, T *restrict out, long n) {
    long i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        Vector given[4], total[4];
        for (int part = 0; part < 4; part++) {
            given[part] = load(a + i + part * LANES);
            total[part] = (Vector){};
        }
        for (int k = 0; k < ADDITIONS; k++)
            for (int part = 0; part < 4; part++) total[part] += given[part];
        for (int part = 0; part < 4; part++) store(out + i + part * LANES, total[part]);
    }
    for (; i < n; i++) out[i] = sum_of(a[i]);
}
#endif
