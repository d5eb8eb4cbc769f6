//! The plain Rust loops with which expressions are compared, compiled for AVX2 and FMA if the target has them.
//!
//! `a * b + c` is never contracted to an FMA. The loop and its operation are inlined into one function, which is compiled for
//! these instruction sets.

use pulp::NullaryFnOnce;

/// Runs a closure that is compiled for AVX2 and FMA if the target has them.
#[inline]
pub fn vectorized(f: impl NullaryFnOnce<Output = ()>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(f);
    }
    f.call();
}

/// out\[i\] = f(a\[i\])
#[inline]
pub fn map1<A: Copy, O>(a: &[A], out: &mut [O], f: impl Fn(A) -> O) {
    vectorized(
        #[inline(always)]
        || out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(a)),
    );
}

/// out\[i\] = f(a\[i\], b\[i\])
#[inline]
pub fn map2<A: Copy, B: Copy, O>(a: &[A], b: &[B], out: &mut [O], f: impl Fn(A, B) -> O) {
    vectorized(
        #[inline(always)]
        || {
            let n = out.len();
            let (a, b) = (&a[..n], &b[..n]);
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(a[i], b[i]);
            }
        },
    );
}

/// out\[i\] = f(a\[i\], b\[i\], c\[i\])
#[inline]
pub fn map3<A: Copy, B: Copy, C: Copy, O>(
    a: &[A],
    b: &[B],
    c: &[C],
    out: &mut [O],
    f: impl Fn(A, B, C) -> O,
) {
    vectorized(
        #[inline(always)]
        || {
            let n = out.len();
            let (a, b, c) = (&a[..n], &b[..n], &c[..n]);
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(a[i], b[i], c[i]);
            }
        },
    );
}

/// out\[i\] = f(a\[i\], b\[i\], c\[i\], column) for each row of `out`. `b` and `c` are a single row, which is used for all
/// rows; each row has its own element of `column`.
#[inline]
pub fn rows<T: Copy>(a: &[T], b: &[T], c: &[T], column: &[T], out: &mut [T], f: impl Fn(T, T, T, T) -> T) {
    vectorized(
        #[inline(always)]
        || {
            let n = b.len();
            let c = &c[..n];
            let each = out.chunks_exact_mut(n).zip(a.chunks_exact(n)).enumerate();
            for (i, (out, a)) in each {
                let x = column.get(i).copied().unwrap_or(b[0]);
                for j in 0..n {
                    out[j] = f(a[j], b[j], c[j], x);
                }
            }
        },
    );
}

/// z = z² + c, ten times.
#[inline(always)]
pub fn iterated<T: Copy + std::ops::Mul<Output = T> + std::ops::Add<Output = T>>(z: T, c: T) -> T {
    let mut z = z;
    for _ in 0..10 {
        z = z * z + c;
    }
    z
}

/// Returns the quotient rounded down, and the remainder, which has the sign of the divisor. The divisor must not be 0.
#[inline(always)]
pub fn divided(a: i32, b: i32) -> (i32, i32) {
    let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
    let below = r != 0 && (r < 0) != (b < 0);
    (q - i32::from(below), if below { r + b } else { r })
}
