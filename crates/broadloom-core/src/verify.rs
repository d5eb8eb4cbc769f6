//! The verifier: what must hold of graphs and kernels, checked. It runs in debug builds and in tests.
//!
//! Of a graph:
//! - an operand is an earlier node
//! - an op's operands have the dtype that it takes, and its result's dtype is the node's
//! - an op's operands' shapes broadcast to the node's shape
//! - a host function's operands have the dtypes of its signature, and the node that of its result
//! - a conversion has its operand's shape, and another dtype
//! - a view fits its operand's shape and gives the node's
//!
//! Of a kernel:
//! - an operand is an input, a parameter or an earlier instruction
//! - an instruction's operands have the dtypes that its code takes, and the op takes that dtype
//! - a call is of one of the kernel's functions, by its signature
//! - an output is a value of the kernel

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, NodeKind};
use crate::kernel::{Code, Kernel};
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

/// Checks a kernel.
///
/// # Errors
/// [`ErrorKind::Internal`]: the first thing that does not hold.
pub fn kernel(kernel: &Kernel) -> Result<()> {
    let mut dtypes: Vec<DType> = kernel.inputs.iter().chain(&kernel.params).copied().collect();
    for (i, inst) in kernel.body.iter().enumerate() {
        let fail = |why: &str| Err(internal(format!("{:?}: {why}", kernel.value(i))));
        for (j, arg) in inst.args().iter().enumerate() {
            match dtypes.get(arg.index()) {
                None => return fail("operand is not defined before"),
                Some(&dtype) if dtype != inst.code.operand(j) => return fail("operand of another dtype"),
                Some(_) => {}
            }
        }
        if let Code::Host(callee) = inst.code
            && kernel.functions.get(callee.function as usize).map(|f| f.signature()) != Some(callee.signature)
        {
            return fail("a call of another function");
        }
        match inst.code.result() {
            Some(dtype) => dtypes.push(dtype),
            None => return fail("the op does not take the dtype"),
        }
    }
    match kernel.outputs.iter().find(|o| o.index() >= dtypes.len()) {
        Some(output) => Err(internal(format!("output {output:?} is not a value"))),
        None => Ok(()),
    }
}

fn expect(holds: bool, otherwise: &str) -> std::result::Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_string()) }
}

fn internal(message: String) -> Error {
    Error::new(ErrorKind::Internal, format!("broken invariant, please report it: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Inst, ValueId};
    use crate::op::Op;
    use broadloom_mem::HostFunction;

    fn add(a: u32, b: u32) -> Inst {
        Inst { code: Code::Apply(Op::Add, DType::Float32), args: [ValueId(a), ValueId(b), ValueId(0)] }
    }

    #[test]
    fn a_kernel_must_define_before_use_with_the_right_types() {
        let good = Kernel {
            inputs: vec![DType::Float32, DType::Int8],
            body: vec![add(0, 0), add(2, 0)],
            outputs: vec![ValueId(3)],
            ..Kernel::default()
        };
        assert_eq!(kernel(&good), Ok(()));
        let broken = |change: fn(&mut Kernel)| {
            let mut k = good.clone();
            change(&mut k);
            kernel(&k).expect_err("broken").to_string()
        };
        assert!(broken(|k| k.body.swap(0, 1)).contains("not defined before"));
        assert!(broken(|k| k.body[0].args[1] = ValueId(1)).contains("another dtype"));
        assert!(broken(|k| k.outputs[0] = ValueId(4)).contains("not a value"));
        let call = |k: &mut Kernel| {
            let f = HostFunction::new("f", |x: f32, _: i8| x).expect("a name");
            k.body[0] = Inst { code: k.callee(&f), args: [ValueId(0), ValueId(1), ValueId(0)] };
        };
        let mut calling = good.clone();
        call(&mut calling);
        assert_eq!(kernel(&calling), Ok(()));
        let mut other = calling.clone();
        other.body[0].args.swap(0, 1);
        assert!(kernel(&other).expect_err("broken").to_string().contains("another dtype"));
        other = calling.clone();
        other.functions.clear();
        assert!(kernel(&other).expect_err("broken").to_string().contains("a call of another function"));
        other = calling;
        other.functions = vec![HostFunction::new("g", |x: f32, _: i8| x > 0.0).expect("a name")];
        assert!(kernel(&other).expect_err("broken").to_string().contains("a call of another function"));
        assert!(
            broken(|k| k.body[0].code = Code::Apply(Op::LogicalAnd, DType::Float32))
                .contains("does not take")
        );
    }
}
