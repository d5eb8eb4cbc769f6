//! Replaces approximate functions by those that return the nearest float32, if the semantics of a graph require it.
//!
//! A function without a definition that returns the nearest float32 is refused here, before anything is compiled, so
//! that no result silently has another accuracy. It is refused even if no rules apply, but only if a root needs it.

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, NodeKind};
use crate::op::{Law, Op};
use broadloom_math::DType;

/// The name that is reported instead of a rule's.
pub(super) const NEAREST: &str = "approximate function of float32 -> the one that gives the nearest float32";

/// The node that computes `id` with the requested accuracy; `id` itself if it has this accuracy already.
///
/// # Errors
/// [`ErrorKind::DType`] if the op has no definition of that accuracy for the dtype.
pub(super) fn nearest(graph: &mut Graph, id: NodeId) -> Result<NodeId> {
    let NodeKind::Apply { op, accuracy, args } = graph.node(id).kind else { return Ok(id) };
    match graph.as_accurate(op, accuracy, &args) {
        Some(same) if same == accuracy => Ok(id),
        Some(accuracy) => graph.push(NodeKind::Apply { op, accuracy, args }),
        None => Err(refused(op, graph.node(id).dtype)),
    }
}

/// The error for a refused op, with advice.
fn refused(op: Op, dtype: DType) -> Error {
    let why =
        format!("{op} of {dtype} is not known to give the nearest {dtype}, as accuracy = nearest asks for");
    let help = match (dtype, op) {
        (DType::Float64, _) if op.has(Law::Nearest) => {
            format!("there is a {op} of float32 that does; or evaluate it with accuracy = fast")
        }
        (_, Op::Pow) => {
            "of powers, those with the exponents -1, 0, 1 and 2 are exact, and so are sqrt and cbrt; or \
                         evaluate it with accuracy = fast"
                .to_string()
        }
        _ => "evaluate it with accuracy = fast".to_string(),
    };
    Error::new(ErrorKind::DType, why).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Accuracy;
    use crate::graph::Semantics;
    use crate::layout::Layout;
    use crate::op::Arity;
    use crate::rewrite::{self, Rules};
    use crate::{Scalar, Shape};

    const BOTH: [Rules; 2] = [Rules::On, Rules::Off];

    fn graph(accuracy: Accuracy) -> Graph {
        Graph::new(Semantics { accuracy, ..Semantics::default() })
    }

    /// A node that applies the op to inputs of a dtype.
    fn over_inputs(graph: &mut Graph, op: Op, dtype: DType) -> Result<NodeId> {
        let layout = Layout::contiguous(Shape::new(&[4])?);
        let args: Vec<NodeId> = (0..op.operands() as u32)
            .map(|slot| graph.input(slot, dtype, layout.clone()))
            .collect::<Result<_>>()?;
        graph.push(NodeKind::apply(op, args))
    }

    /// The op and the accuracy of a root. If the root only makes its operand canonical, those of the operand.
    fn root_op(graph: &Graph, root: NodeId) -> Option<(Op, Accuracy)> {
        let op_of = |id: NodeId| match &graph.node(id).kind {
            NodeKind::Apply { op, accuracy, args } => Some((*op, *accuracy, *args.get(0)?)),
            _ => None,
        };
        match op_of(root)? {
            (Op::CanonicalNan, _, arg) => op_of(arg).map(|(op, accuracy, _)| (op, accuracy)),
            (op, accuracy, _) => Some((op, accuracy)),
        }
    }

    #[test]
    fn every_op_is_left_or_replaced_or_refused() -> Result<()> {
        let numeric = |op: &Op| {
            matches!(op.arity(), Arity::Unary | Arity::Binary)
                && !matches!(op, Op::Positive | Op::CanonicalNan)
        };
        for op in Op::public().filter(numeric) {
            for &dtype in op.dtypes() {
                for rules in BOTH {
                    let mut fast = graph(Accuracy::Fast);
                    let root = over_inputs(&mut fast, op, dtype)?;
                    let (out, roots) = rewrite::run(&fast, &[root], rules)?;
                    let left = root_op(&out, roots[0]);
                    let mut nearest = graph(Accuracy::Nearest);
                    let root = over_inputs(&mut nearest, op, dtype)?;
                    let found = rewrite::explain(&nearest, &[root], rules);
                    if op.is_nearest(dtype, None) {
                        let (out, roots, _) = found?;
                        assert_eq!(root_op(&out, roots[0]), left, "{op} {dtype}");
                    } else if op.has(Law::Nearest) && dtype == DType::Float32 {
                        let (out, roots, firings) = found?;
                        assert_eq!(root_op(&out, roots[0]), Some((op, Accuracy::Nearest)), "{op} {dtype}");
                        assert!(
                            firings.iter().any(|firing| firing.rule == NEAREST && firing.at == root),
                            "{op}"
                        );
                    } else {
                        let error = found.map(drop).expect_err("refused");
                        assert_eq!(error.kind(), ErrorKind::DType, "{op} {dtype}");
                        let wanted = format!("{op} of {dtype} is not known to give the nearest {dtype}");
                        assert!(error.to_string().contains(&wanted), "{error}");
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn what_no_root_needs_is_not_refused_and_some_powers_are_exact() -> Result<()> {
        let mut g = graph(Accuracy::Nearest);
        over_inputs(&mut g, Op::Sin, DType::Float64)?;
        let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[4])?))?;
        for rules in BOTH {
            for (exponent, exact) in
                [(0.0, true), (1.0, true), (2.0, true), (-1.0, true), (0.5, false), (3.0, false)]
            {
                let exponent = g.constant(Scalar::of(exponent as f32), Some(0))?;
                let power = g.push(NodeKind::apply(Op::Pow, [x, exponent]))?;
                assert_eq!(rewrite::run(&g, &[power], rules).is_ok(), exact, "{exponent:?} {rules:?}");
            }
        }
        Ok(())
    }

    /// Functions of constants fold to the nearest value, both when a graph is built and when it is rewritten, for fixed
    /// values and for literals whose values each run provides. The expected values come from mpmath; the fast functions
    /// return floats adjacent to them.
    #[test]
    fn functions_of_constants_fold_to_the_nearest_value() -> Result<()> {
        for (op, x, nearest) in [
            (Op::Exp, 0xc2af_5adf_u32, 0x005b_056d_u32),
            (Op::Log, 0x3fb4_8d03, 0x3eb0_1e6b),
            (Op::Log2, 0x3fb4_988c, 0x3efe_4523),
            (Op::Sin, 0x4239_889f, 0x3f2c_b4e9),
            (Op::Cos, 0xc109_f9e3, 0xbf32_1f9b),
        ] {
            for slot in [None, Some(0)] {
                for rules in BOTH {
                    let mut g = graph(Accuracy::Nearest);
                    let x = g.constant(Scalar::of(f32::from_bits(x)), slot)?;
                    // x is negated twice, so that a rule creates another function of constants.
                    let x = g.push(NodeKind::apply(Op::Negative, [x]))?;
                    let x = g.push(NodeKind::apply(Op::Negative, [x]))?;
                    let y = g.push(NodeKind::apply(op, [x]))?;
                    let (out, roots) = rewrite::run(&g, &[y], rules)?;
                    let value = out.node(roots[0]).constant().map(|value| value.bits);
                    assert_eq!(value, Some(u64::from(nearest)), "{op} {slot:?} {rules:?}");
                }
            }
        }
        let mut g = graph(Accuracy::Nearest);
        let half = g.constant(Scalar::of(0.5_f64), None)?;
        let y = g.push(NodeKind::apply(Op::Exp, [half]))?;
        let refused = rewrite::run(&g, &[y], Rules::On).map(drop).expect_err("float64");
        assert_eq!(refused.kind(), ErrorKind::DType);
        Ok(())
    }
}
