//! The verifier of graphs: what must hold of one, checked. It runs in debug builds and in tests.
//!
//! - an operand is an earlier node
//! - an op's operands have the dtype that it takes, and its result's dtype is the node's
//! - an op's operands' shapes broadcast to the node's shape
//! - a host function's operands have the dtypes of its signature, and the node that of its result
//! - a conversion has its operand's shape, and another dtype
//! - a view fits its operand's shape and gives the node's

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, NodeKind};
use crate::op::Arity;
use crate::shape::Shape;
use broadloom_math::DType;

/// Checks a graph.
///
/// # Errors
/// [`ErrorKind::Internal`]: the first thing that does not hold, with the graph's text.
pub fn graph(graph: &Graph) -> Result<()> {
    for id in graph.ids() {
        if let Err(why) = node(graph, id) {
            return Err(internal(format!("{id:?}: {why}\n{graph}")));
        }
    }
    Ok(())
}

fn node(graph: &Graph, id: NodeId) -> std::result::Result<(), String> {
    let node = graph.node(id);
    if let Some(late) = node.args().iter().find(|a| **a >= id) {
        return Err(format!("operand {late:?} is not an earlier node"));
    }
    match &node.kind {
        NodeKind::Input { layout, .. } => expect(layout.shape == node.shape, "layout of another shape"),
        NodeKind::Const { value, .. } => {
            expect(value.dtype == node.dtype && node.shape.rank() == 0, "constant of another type")
        }
        NodeKind::Apply { op, args } => {
            expect(args.len() == op.operands(), "wrong number of operands")?;
            let operand = graph.node(args[args.len() - 1]).dtype;
            for (i, &arg) in args.iter().enumerate() {
                let wanted = if op.arity() == Arity::Choice && i == 0 { DType::Bool } else { operand };
                expect(graph.node(arg).dtype == wanted, "operands of different dtypes")?;
            }
            expect(op.result(operand) == Some(node.dtype), "wrong result dtype")?;
            expect(broadcasts(graph, args, &node.shape), "wrong result shape")
        }
        NodeKind::Host { function, args } => {
            let signature = function.signature();
            let dtypes = args.iter().map(|&a| graph.node(a).dtype);
            expect(dtypes.eq(signature.operands().iter().copied()), "operands of other dtypes")?;
            expect(node.dtype == signature.result(), "wrong result dtype")?;
            expect(broadcasts(graph, args, &node.shape), "wrong result shape")
        }
        NodeKind::Cast { arg } => {
            let arg = graph.node(*arg);
            expect(arg.shape == node.shape && arg.dtype != node.dtype, "not a conversion")
        }
        NodeKind::View { arg, view } => {
            let arg = graph.node(*arg);
            view.check(&arg.shape).map_err(|e| e.to_string())?;
            expect(view.shape(&arg.shape) == node.shape && arg.dtype == node.dtype, "view of another type")
        }
    }
}

fn broadcasts(graph: &Graph, args: &[NodeId], to: &Shape) -> bool {
    let shapes: Vec<&Shape> = args.iter().map(|&a| &graph.node(a).shape).collect();
    Shape::broadcast(&shapes).as_ref() == Ok(to)
}

fn expect(holds: bool, otherwise: &str) -> std::result::Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_string()) }
}

fn internal(message: String) -> Error {
    Error::new(ErrorKind::Internal, format!("broken invariant, please report it: {message}"))
}
