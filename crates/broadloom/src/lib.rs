//! Lazy arrays: an expression is typed when it is written, and runs as one fused loop when its values are requested.
//!
//! An [`Array`] is a handle of an expression over vectors, slices and numbers. Every expression is well typed, and means the values
//! that its operands had when it was built. Nothing recurses along an expression, so that a chain of a million nodes needs no more
//! stack than one node.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let nir = Array::from_vec(vec![0.8_f32, 0.6, 0.4]);
//! let red = Array::from_slice(&[0.1_f32, 0.2, 0.3]);
//! let index = (&nir - &red) / (&nir + &red);
//! assert_eq!(index.eval()?.to_vec::<f32>()?.len(), 3);
//! println!("{index}"); // [0.7777778  0.5        0.14285716]
//!
//! let wrong = nir.try_add(Array::from_vec(vec![1.0_f32; 5]));
//! assert_eq!(
//!     wrong.unwrap_err().to_string(),
//!     "add: cannot broadcast float32[3] with float32[5] (axis -1: 3 and 5)"
//! );
//! # Ok::<(), Error>(())
//! ```
//!
//! # Dtypes
//!
//! Arrays of different dtypes are promoted as the [Python Array API standard] defines; undefined combinations are an error that
//! names the cast to write, unless [`with_promotion`] selects other rules. A Rust number (or an [`Array::scalar`]) takes the dtype
//! of the arrays that it is combined with, and must fit it. If all operands are numbers, as the choices of
//! [`where_`](functions::where_) may be, they have their Rust types.
//!
//! [Python Array API standard]: https://data-apis.org/array-api/latest/
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let counts = Array::from_vec(vec![1_i32, 2, 3]);
//! let e = counts.try_multiply(0.5).unwrap_err();
//! assert!(e.to_string().contains("write astype(x, float64)"), "{e}");
//! assert_eq!((counts.astype(DType::Float32) * 0.5).dtype(), DType::Float32);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Shapes and views
//!
//! Shapes broadcast as in NumPy. Views ([`Array::slice`], [`Array::permute_dims`], [`Array::reshape`] …) move no elements: for
//! arrays in memory they are strides, in expressions they are pushed down to the inputs.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let x = Array::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let first = x.slice((.., ..1))?; // the first column, of shape [2, 1]
//! assert_eq!((&x / first).t().to_vec::<f32>()?, [1.0, 1.0, 2.0, 1.25, 3.0, 1.5]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Reductions
//!
//! [`Array::sum`], [`Array::mean`], [`Array::max`], [`Array::argmax`] and the others reduce the elements along axes ([`Over`]), or
//! all elements with `()`. They are lazy, and their operands are computed in the same loop and never stored. Sums are added
//! pairwise, in an order that depends on the number of elements alone: the bits are the same for every layout, executor and number
//! of threads, and the error grows with the logarithm of that number.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let x = Array::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 9.0]]);
//! assert_eq!((x.sum(())?.item::<f32>()?, x.mean(-1)?.to_vec::<f32>()?), (24.0, vec![2.0, 6.0]));
//!
//! let rows = Over::axis(-1).keep_dims();
//! let e = (&x - x.max(rows.clone())?).exp();
//! let softmax = &e / e.sum(rows)?;
//! assert_eq!(softmax.argmax(-1)?.to_vec::<i64>()?, [2, 2]);
//!
//! // The mean of the elements above 2: a function like `compress` is not needed.
//! let above = x.greater(2);
//! let mean = where_(&above, &x, 0).sum(())? / above.count_nonzero(())?.astype(DType::Float32);
//! assert_eq!(mean.item::<f32>()?, 5.25);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Results
//!
//! [`Array::eval`] returns a new array, [`Array::to_vec`] a vector, and [`Array::eval_into`] writes to a slice; [`eval_many`]
//! computes several results in one pass. The handle stays lazy: the values are only in these results. A second evaluation of the
//! same expression over other data plans and compiles nothing.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let x = Array::from_vec(vec![1.0_f64, 4.0]);
//! let [root, half] = [x.sqrt(), &x / 2];
//! let both = eval_many(&[&root, &half])?; // one loop
//! assert_eq!(both[1].to_vec::<f64>()?, [0.5, 2.0]);
//!
//! let mut out = [0.0; 2];
//! (root + half).eval_into(&mut out)?;
//! assert_eq!(out, [1.5, 4.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Kernels
//!
//! If the memory changes and the expression stays the same, build a [`Kernel`] from inputs that have no values ([`Array::input`]),
//! or from a text, and run it.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::{Kernel, Options};
//!
//! let x = Array::input("x", DType::Float32, &["n".into()])?;
//! let kernel = Kernel::new(&[&(x.exp() - 1)], &[&x], &Options::default())?;
//! let same = Kernel::parse("x: float32[n]; exp(x) - 1", &Options::default())?;
//! for n in [1, 1000] {
//!     let (data, mut out, mut again) = (vec![0.5_f32; n], vec![0.0_f32; n], vec![0.0_f32; n]);
//!     kernel.run(&[(&data).into()], [(&mut out).into()])?;
//!     same.run(&[(&data).into()], [(&mut again).into()])?;
//!     assert_eq!(out, again);
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! # Explanations
//!
//! [`Array::explain`], [`explain_many`] and [`Kernel::explain`] describe what is fused, and which executor runs it and why;
//! [`Array::explain_html`] draws the graph.
//!
//! # Further reading
//!
//! [`text`] describes the text language, [`HostFunction`] calls your own functions inside of the loop, [`Options`] has the limits
//! for untrusted expressions, and [`Engine`] the caches.
#![forbid(unsafe_code)]

mod access;
mod array;
mod bytes;
mod chunks;
mod conversions;
mod create;
mod display;
mod engine;
mod eval;
mod explain;
mod explain_arrays;
mod expr;
pub mod functions;
mod generated;
mod inspect;
#[cfg(feature = "ndarray")]
mod interop;
mod iterators;
mod jit;
mod kernel;
mod leaves;
mod lent;
mod lower;
#[cfg(feature = "ndarray")]
mod ndarray_operators;
mod number;
mod numpy_rule;
pub mod onnx;
mod operand;
mod operators;
pub mod prelude;
mod promote;
mod range;
mod reductions;
mod storage;
pub mod text;
mod views;
mod weak;

pub use array::{Array, Operand};
pub use broadloom_core::graph::{Accuracy, IntDivision, Semantics};
pub use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Kind, Literal, Op, Promotion, Result, Symbol};
pub use broadloom_ir::VectorWidth;
pub use broadloom_math::f16;
pub use broadloom_mem::HostFunction;
pub use broadloom_mem::{HostClosure, HostError, HostPointer, HostSignature, HostTile, MAX_HOST_OPERANDS};
pub use broadloom_mem::{HostFallibleTile, HostResult, HostStatus, HostTileClosure, HostTileResult};
pub use broadloom_mem::{Region, ViewMut};
pub use chunks::{Chunk, Chunks, InputPart, PassChunk, Passes};
pub use conversions::{ElementVisitor, visit_dtype};
pub use display::summary;
pub use engine::{Control, Engine, Executor, Limits, Options, Profiling, Progress, Statistics};
pub use eval::{eval_many, eval_many_watched, eval_many_with};
pub use explain::Explanation;
pub use explain_arrays::explain_many;
pub use inspect::{TypedGraph, typed_graph};
#[cfg(feature = "ndarray")]
pub use interop::{AssignLazy, Lazy, lazy};
pub use kernel::{Call, In, Kernel, KernelId, Out, Port};
pub use operand::IntoArray;
pub use promote::{promotion, with_promotion};
pub use range::{Bound, IntoRanges, Range, Ranges};
pub use reductions::Over;
pub use storage::Element;
pub use weak::Number;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../../../docs/ndarray.md")]
struct NdarrayPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/nearest.md")]
struct NearestPage;
