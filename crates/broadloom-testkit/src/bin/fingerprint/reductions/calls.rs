//! The library's reductions and scans as texts, with their options.

use broadloom_testkit::reduction::{Cumulative, Function, Reduction, VecDot};

use super::row::Contents;

/// A reduction or scan with its options.
#[derive(Clone)]
pub enum ReductionCall {
    /// A reduction of one operand to one element per group.
    Reduction(Reduction),
    /// A scan.
    Cumulative(Cumulative),
    /// The dot product with the operand `y`.
    VecDot,
    /// The logarithm of a sum of exponentials, computed by subtracting the maximum first.
    LogSumExp,
}

/// All calls: each function with its defaults, and each option once.
pub fn all() -> Vec<ReductionCall> {
    let of = Reduction::all;
    let mut calls: Vec<ReductionCall> =
        Function::ALL.iter().map(|&function| ReductionCall::Reduction(of(function))).collect();
    let options = [
        Reduction { correction: 1.0, ..of(Function::Var) },
        Reduction { correction: 1.5, ..of(Function::NanStd) },
        Reduction { ord: 1.0, ..of(Function::VectorNorm) },
        Reduction { ord: 3.0, ..of(Function::VectorNorm) },
        Reduction { ord: f64::INFINITY, ..of(Function::VectorNorm) },
        Reduction { keepdims: true, ..of(Function::Sum) },
        Reduction { keepdims: true, ..of(Function::ArgMin) },
        Reduction { dtype: Some(broadloom::DType::Float64), ..of(Function::Sum) },
        Reduction { dtype: Some(broadloom::DType::Int16), ..of(Function::Prod) },
    ];
    calls.extend(options.map(ReductionCall::Reduction));
    calls.extend([ReductionCall::VecDot, ReductionCall::LogSumExp]);
    for is_product in [false, true] {
        for include_initial in [false, true] {
            let scan = Cumulative { is_product, axis: None, dtype: None, include_initial };
            calls.push(ReductionCall::Cumulative(scan));
        }
    }
    calls
}

/// Calls of these functions without options.
pub fn named(names: &[&str]) -> Vec<ReductionCall> {
    let call = |name: &&str| {
        let all = all().into_iter();
        all.clone().find(|call| call.function() == *name).unwrap_or_else(|| panic!("{name} is no reduction"))
    };
    names.iter().map(call).collect()
}

impl ReductionCall {
    /// The function's name.
    pub fn function(&self) -> &'static str {
        match self {
            ReductionCall::Reduction(reduction) => reduction.function.name(),
            ReductionCall::Cumulative(scan) => scan.name(),
            ReductionCall::VecDot => "vecdot",
            ReductionCall::LogSumExp => "logsumexp",
        }
    }

    /// The text of the call for an operand along axes (`None` for all axes). `None` if the function does not
    /// accept these axes.
    pub fn text(&self, x: &str, axes: Option<&[isize]>) -> Option<String> {
        let one = axes.filter(|axes| axes.len() == 1).map(|axes| axes[0]);
        match self {
            ReductionCall::Reduction(reduction) => {
                let is_search = reduction.function.is_search();
                let takes = !is_search || axes.is_none() || one.is_some();
                let axes = axes.map(<[isize]>::to_vec);
                takes.then(|| Reduction { axes, ..reduction.clone() }.text(x))
            }
            ReductionCall::Cumulative(scan) => {
                let takes = axes.is_none() || one.is_some();
                takes.then(|| Cumulative { axis: one, ..scan.clone() }.text(x))
            }
            ReductionCall::VecDot => {
                VecDot { axis: one.filter(|&axis| axis < 0).or(axes.is_none().then_some(-1))? }
                    .text(x, "y")
                    .into()
            }
            ReductionCall::LogSumExp => {
                let of = |function| Reduction {
                    keepdims: true,
                    axes: axes.map(<[isize]>::to_vec),
                    ..Reduction::all(function)
                };
                let max = of(Function::Max).text("t");
                let sum = of(Function::Sum).text("exp(t - m)");
                Some(format!("t = {x}; m = {max}; log({sum}) + m"))
            }
        }
    }

    /// The contents of operands for which reducing many elements stays in range of the dtype.
    pub fn moderate(&self) -> Contents {
        match self.function() {
            "prod" | "nanprod" | "cumulative_prod" => Contents::Product,
            _ => Contents::Moderate,
        }
    }
}
