//! Lazy arrays: an expression is typed when it is written, and runs as one fused loop when its values are requested.
//!
//! The tour: [arrays](#arrays), [kernels](#kernels), [texts](#texts), [host functions](#host-functions), [errors](#errors) and
//! [features](#features).
//!
//! # Arrays
//!
//! An [`Array`] is a handle to an expression over vectors, slices and numbers. Operators, [`functions`], reductions and views
//! build expressions; evaluating one reads the inputs and writes the results in one loop, without temporary arrays.
//! [`Array::eval`] returns a new array, [`Array::to_vec`] a vector, [`Array::eval_into`] fills a slice, and [`eval_many`]
//! computes several results together. The page of [`Array`] describes dtypes, shapes, reductions and results.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let nir = Array::from_vec(vec![0.8_f32, 0.6, 0.4]);
//! let red = Array::from_slice(&[0.1_f32, 0.2, 0.3]);
//! let index = (&nir - &red) / (&nir + &red);
//! println!("{index}"); // [0.7777778  0.5        0.14285716]
//! assert_eq!(index.eval()?.to_vec::<f32>()?.len(), 3);
//!
//! let rows = Array::from([[1.0_f64, 2.0], [3.0, 4.0]]);
//! let centred = &rows - rows.mean(0)?; // shapes broadcast
//! assert_eq!(centred.to_vec::<f64>()?, [-1.0, -1.0, 1.0, 1.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! The first expression of a structure is planned, and is compiled once that pays off; expressions of the same structure over
//! other data reuse the plan and the code. [`Array::explain`] shows what is fused, and which executor runs it and why.
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
//! # Texts
//!
//! Formulas of your users are programs in a small [text language](text), with Python's operators and the functions of this crate.
//! [`Kernel::parse`] makes a [`Kernel`] from a text, and [`text::Program`] makes arrays from it. A [`Library`](text::Library)
//! adds functions.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::text::{Library, Program};
//!
//! let library = Library::new(&[], "def index(p, q) = (p - q) / (p + q)")?;
//! let program = Program::parse_with(
//!     "nir: float32[n]; red: float32[n]
//!      return ndvi = index(nir, red), bright = nir > 0.5",
//!     &library,
//!     &Default::default(),
//! )?;
//! let bands = [("nir", Array::from([0.75_f32, 0.5])), ("red", Array::from([0.25_f32, 0.5]))];
//! let results = program.build(&bands)?;
//! assert_eq!((results[0].0, results[0].1.to_vec::<f32>()?), ("ndvi", vec![0.5, 0.0]));
//! assert_eq!((results[1].0, results[1].1.to_vec::<bool>()?), ("bright", vec![true, false]));
//! # Ok::<(), Error>(())
//! ```
//!
//! [`text::ParseOptions`] and [`Options`] limit the time and memory that an untrusted text can take.
//!
//! # Host functions
//!
//! A [`HostFunction`] is a closure, or a pointer to a C function, that runs inside of the loop. [`Array::call`] calls it in an
//! expression; a text calls it by its name.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::text::Library;
//! use broadloom::{HostFunction, Kernel};
//!
//! let prices = [2.5_f64, 4.0, 10.0];
//! let price = HostFunction::new("price", move |article: u8| {
//!     prices.get(usize::from(article)).copied().ok_or("no such article")
//! })?;
//! let articles = Array::from([0_u8, 2, 1]);
//! assert_eq!((Array::call(&price, [&articles])? * 2).to_vec::<f64>()?, [5.0, 20.0, 8.0]);
//!
//! let library = Library::new(&[price], "def total(article, n) = price(article) * n")?;
//! let kernel = Kernel::parse_with("a: uint8[n]; total(a, 3)", &library, &Options::default())?;
//! let mut out = [0.0];
//! kernel.run(&[(&[1_u8]).into()], [(&mut out).into()])?;
//! assert_eq!(out, [12.0]);
//! let failed = kernel.run(&[(&[7_u8]).into()], [(&mut out).into()]).unwrap_err();
//! assert_eq!(failed.message(), "price: no such article");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Errors
//!
//! Every function that can fail returns a [`Result`] with an [`Error`]: a kind to branch on, a message that names the operation
//! and its operands, and often advice on how to fix it. Operators and functions of arrays panic with the same message; each has a
//! `try_` twin that returns the error. Types and shapes are checked when an expression is built, memory and limits when it runs.
//! Errors in texts contain the position.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::{ErrorKind, Kernel};
//!
//! let (three, five) = (Array::from([1.0_f32; 3]), Array::from([1.0_f32; 5]));
//! let error = three.try_add(&five).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Shape);
//! assert_eq!(error.to_string(), "add: cannot broadcast float32[3] with float32[5] (axis -1: 3 and 5)");
//!
//! let error = Error::from(Kernel::parse("x: float64[n]\nsqr(x)", &Options::default()).unwrap_err());
//! assert_eq!((error.kind(), error.line(), error.column()), (ErrorKind::Name, Some(2), Some(1)));
//! println!("{}", error.render()); // with the line of the text and a suggestion
//!
//! let small = Options { max_bytes: 1 << 20, ..Options::default() };
//! let error = Array::arange(0, 1_000_000, 1)?.eval_with(&small).map(|_| ()).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Limit);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Features
//!
//! | feature | | what it adds | crates | seconds |
//! | --- | --- | --- | --- | --- |
//! | none | | everything except what the features below add; the interpreter runs it, with the same bits | 50 | 288 |
//! | `jit` | default | machine code, through Cranelift: x86-64 with AVX and FMA, aarch64 | + 32 | + 210 |
//! | `gdb` | | with `jit`: machine code has names in GDB and LLDB ([`Profiling`]) | + 3 | + 6 |
//! | `ndarray` | | arrays and views of the crate ndarray as operands and results | + 4 | + 10 |
//!
//! The column of crates counts the names that `cargo tree -e normal,build` lists. The seconds are user CPU time (`time -f %U`) of
//! `CARGO_BUILD_JOBS=2 cargo build -p broadloom` from an empty target folder, in the repository's profile `dev` (optimisation
//! level 1), on two cores of Zen 3. For `gdb` and `ndarray`, only the added crates were timed, while other builds were running. A
//! build with `jit` takes 1.7 times as long as a build without features. Half of the first row is spent on the loops of the
//! interpreter and of reductions.
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use broadloom::prelude::*;
//! use ndarray::{Array2, array};
//!
//! let a = array![[1.0, 2.0], [3.0, 4.0]];
//! let y: Array2<f64> = (a.lazy() * 2 + &array![10.0, 20.0]).try_into()?; // the feature `ndarray`
//! assert_eq!(y, array![[12.0, 24.0], [16.0, 28.0]]);
//! # }
//! # Ok::<(), broadloom::Error>(())
//! ```
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod access;
mod along;
mod array;
mod bytes;
mod chunks;
mod cond;
mod conversions;
mod create;
mod display;
mod distinct;
mod engine;
mod eval;
mod evaluation;
pub mod explain;
mod explain_arrays;
mod expr;
mod fori_loop;
pub mod functions;
mod generated;
pub mod gradients;
mod inspect;
#[cfg(feature = "ndarray")]
mod interop;
mod iterators;
mod jit;
mod joining;
mod kernel;
mod leaves;
mod lent;
mod lower;
mod marks;
#[cfg(feature = "ndarray")]
mod ndarray_operators;
mod number;
mod numpy_rule;
pub mod onnx;
mod open_loop;
mod open_scan;
mod operand;
mod operators;
mod padding;
pub mod prelude;
mod promote;
pub mod random;
mod range;
mod recorder;
mod reduce;
mod reductions;
mod scan;
mod scatters;
mod segments;
mod selection;
mod sized;
mod sorts;
mod stamp;
mod statistics;
mod storage;
mod take;
pub mod text;
mod topk;
mod value_run;
mod views;
mod weak;
mod while_loop;

pub use along::Along;
pub use array::{Array, Operand};
pub use broadloom_core::Accuracy;
pub use broadloom_core::draws::{Draw, DrawCall, DrawnDTypes};
pub use broadloom_core::graph::{IntDivision, Semantics};
pub use broadloom_core::listing;
pub use broadloom_core::parameter::{Parameter, ParameterKind};
pub use broadloom_core::reductions::{ReductionCall, ReductionFunction};
pub use broadloom_core::routine::ScatterMode;
pub use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Kind, Literal, Op, Promotion, Result, Symbol};
pub use broadloom_ir::VectorWidth;
pub use broadloom_math::f16;
pub use broadloom_mem::HostFunction;
pub use broadloom_mem::{HostClosure, HostError, HostPointer, HostSignature, HostTile, MAX_HOST_OPERANDS};
pub use broadloom_mem::{HostFallibleTile, HostResult, HostStatus, HostTileClosure, HostTileResult};
pub use broadloom_mem::{Region, ViewMut};
pub use chunks::{Chunk, Chunks, InputPart, PassChunk, Passes};
pub use cond::{cond, try_cond};
pub use conversions::{ElementVisitor, visit_dtype};
pub use display::summary;
pub use distinct::UniqueAll;
pub use engine::{Control, Engine, Executor, Limits, Options, Profiling, Progress, Statistics};
pub use eval::eval_many;
pub use evaluation::Evaluation;
pub use explain::Explanation;
pub use explain_arrays::explain_many;
pub use fori_loop::{RangeBody, fori_loop, try_fori_loop};
pub use inspect::{TypedGraph, typed_graph};
#[cfg(feature = "ndarray")]
pub use interop::{AssignLazy, Lazy, lazy};
pub use joining::{concat, stack};
pub use kernel::{Call, In, Kernel, KernelId, Out, Port};
pub use open_loop::OpenLoop;
pub use open_scan::OpenScan;
pub use operand::IntoArray;
pub use padding::PadMode;
pub use promote::{promotion, result_type, with_promotion};
pub use range::{Bound, IntoRanges, Range, Ranges};
pub use reduce::{Combine, reduce, try_reduce};
pub use reductions::Over;
pub use scan::{ScanStep, scan, try_scan};
pub use storage::Element;
pub use take::IndexMode;
pub use weak::Number;
pub use while_loop::{try_while_loop, while_loop, while_loop_counts};

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
