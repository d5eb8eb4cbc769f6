//! Array expressions from types to kernels: inference, graphs, rewriting, fusion, and the text language.
//!
//! Ops on typed values, or a [`text`], are turned into a [`Graph`]; fusion turns the graph into a [`Plan`] of kernels
//! in execution order. Executors see nothing but kernels ([`Kernel`]). The flow, top to bottom: [`infer`] → [`node`] →
//! [`structure`] → [`graph`] → [`rewrite`] → [`fuse`] → [`kernel`]. Nothing recurses along an expression, which may
//! have a million nodes.
#![forbid(unsafe_code)]

pub mod binding;
pub mod derived;
pub mod draws;
pub mod fuse;
pub mod graph;
pub mod indices;
pub mod infer;
pub mod layout;
pub mod listing;
pub mod node;
pub mod padding;
pub mod parameter;
pub mod reductions;
pub mod region;
pub mod rewrite;
pub mod routine;
pub mod shape;
pub mod structure;
pub mod symbol;
pub mod text;
pub mod verify;

pub use broadloom_ir::{
    Accuracy, DType, Error, ErrorKind, HostDeclaration, Kernel, Kind, Literal, Op, Result, Scalar,
};
pub use broadloom_ir::{error, fold, for_each_op, kernel, op, scalar};
pub use broadloom_ir::{is_printable, printable, printable_lines};
pub use fuse::Plan;
pub use graph::{Graph, NodeId};
pub use infer::Promotion;
pub use layout::{Layout, View};
pub use shape::Shape;
pub use symbol::{Dim, Dims, Symbol};
