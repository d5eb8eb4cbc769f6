//! Plain Rust loops, compiled for AVX2 and FMA: what expressions are measured against.

use pulp::{NullaryFnOnce, x86::V3};

/// A loop over zipped slices, for AVX2 where the host has it.
macro_rules! plain_loop {
    ($name:ident<$t:ty>($($input:ident),*) |$($x:ident),*| $body:expr) => {
        pub fn $name($($input: &[$t],)* out: &mut [$t]) {
            struct Loop<'a> {
                $($input: &'a [$t],)*
                out: &'a mut [$t],
            }
            impl NullaryFnOnce for Loop<'_> {
                type Output = ();
                #[inline(always)]
                fn call(self) {
                    let n = self.out.len();
                    $(let $input = &self.$input[..n];)*
                    for (i, out) in self.out.iter_mut().enumerate() {
                        $(let $x = $input[i];)*
                        *out = $body;
                    }
                }
            }
            run(Loop { $($input,)* out })
        }
    };
}

fn run(f: impl NullaryFnOnce<Output = ()>) {
    match V3::try_new() {
        Some(v3) => v3.vectorize(f),
        None => f.call(),
    }
}

plain_loop!(triad_f32<f32>(a, b, c) |x, y, z| x * y + z);
plain_loop!(triad_f64<f64>(a, b, c) |x, y, z| x * y + z);
plain_loop!(iter10_f32<f32>(a, c) |z, c| {
    let mut z = z;
    for _ in 0..10 {
        z = z * z + c;
    }
    z
});
plain_loop!(iter10_f64<f64>(a, c) |z, c| {
    let mut z = z;
    for _ in 0..10 {
        z = z * z + c;
    }
    z
});

/// a · row + column.
pub fn broadcast_f32(a: &[f32], row: &[f32], column: &[f32], out: &mut [f32]) {
    struct Loop<'a>(&'a [f32], &'a [f32], &'a [f32], &'a mut [f32]);
    impl NullaryFnOnce for Loop<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let cols = self.1.len();
            let rows = self.3.chunks_exact_mut(cols).zip(self.0.chunks_exact(cols)).zip(self.2);
            for ((out, a), &c) in rows {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(self.1) {
                    *out = a * b + c;
                }
            }
        }
    }
    run(Loop(a, row, column, out))
}
