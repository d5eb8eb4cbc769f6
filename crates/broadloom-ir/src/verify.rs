//! The verifier of kernels, which runs in debug builds and in tests. It checks that
//!
//! - each operand is an input, a parameter or the result of an earlier instruction
//! - the operands of an instruction have the dtypes that its code takes, and the op takes that dtype
//! - a gather reads one of the kernel's tables, by its dtype
//! - a call refers to one of the kernel's functions and has the signature of that function
//! - a loop has an operand of the right dtype for each input of its body, and a table of the right dtype for each table of it; its
//!   body returns a bool condition and values of the dtypes that it carries; only items read it, each another one; loops contain each
//!   other at most [`MAX_NESTING`] times
//! - each output is a value of the kernel, and its reduction or scan takes the value's dtype

use broadloom_math::DType;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Code, Definition, Kernel, KernelLoop, MAX_NESTING, Sink, ValueId};

/// Verifies a kernel.
///
/// # Errors
/// [`ErrorKind::Internal`], whose message describes the first violation.
pub fn kernel(kernel: &Kernel) -> Result<()> {
    nested(kernel, 0)
}

/// Verifies a kernel, or the body of a loop in `depth` others.
fn nested(kernel: &Kernel, depth: usize) -> Result<()> {
    // The dtype of each value; a loop has none.
    let mut dtypes: Vec<Option<DType>> =
        kernel.inputs.iter().chain(&kernel.params).copied().map(Some).collect();
    for (i, inst) in kernel.body.iter().enumerate() {
        let fail = |why: &str| Err(internal(format!("{:?}: {why}", kernel.value(i))));
        match inst.code {
            Code::Loop(number) => {
                let Some(of) = kernel.loops.get(number as usize) else {
                    return fail("there is no such loop");
                };
                if depth >= MAX_NESTING {
                    return fail("loops contain each other too often");
                }
                looped(of).or_else(&fail)?;
                operands_of_loop(kernel, of, &dtypes).or_else(&fail)?;
                nested(&of.body, depth + 1)?;
                dtypes.push(None);
                continue;
            }
            Code::Item { item, dtype } => {
                let of = match kernel.definition(inst.args[0]) {
                    Definition::Inst(from) if from < i => kernel.body[from].code,
                    _ => return fail("operand is not defined before"),
                };
                let Code::Loop(number) = of else { return fail("an item of what is no loop") };
                let of = &kernel.loops[number as usize];
                if item as usize >= of.carried() || of.body.inputs[item as usize] != dtype {
                    return fail("an item that the loop does not carry");
                }
                if kernel.body[..i].contains(inst) {
                    return fail("an item twice");
                }
                dtypes.push(Some(dtype));
                continue;
            }
            Code::Gather { table, dtype } if kernel.tables.get(table as usize) != Some(&dtype) => {
                return fail("there is no such table");
            }
            Code::Apply { .. } | Code::Cast(..) | Code::Host(_) | Code::Gather { .. } => {}
        }
        for (j, arg) in inst.args().iter().enumerate() {
            match dtypes.get(arg.index()) {
                None => return fail("operand is not defined before"),
                Some(dtype) if *dtype != Some(inst.code.operand(j)) => {
                    return fail("operand of another dtype");
                }
                Some(_) => {}
            }
        }
        if let Code::Host(callee) = inst.code
            && kernel.functions.get(callee.function as usize).map(|f| f.signature()) != Some(callee.signature)
        {
            return fail("a call of another function");
        }
        match inst.code.result() {
            Some(dtype) => dtypes.push(Some(dtype)),
            None => return fail("the op does not take the dtype"),
        }
    }
    for output in &kernel.outputs {
        let Some(&Some(dtype)) = dtypes.get(output.value.index()) else {
            return Err(internal(format!("output {output} is not a value")));
        };
        let takes = match output.sink {
            Sink::Store => true,
            Sink::Reduce(reduction) => reduction.takes(dtype),
            Sink::Scan(scan) => scan.takes(dtype),
        };
        if !takes {
            return Err(internal(format!("{output} of {dtype}, which it does not take")));
        }
    }
    Ok(())
}

/// Verifies the operands and the tables of a loop, given the dtypes of the values before it.
fn operands_of_loop(
    kernel: &Kernel,
    of: &KernelLoop,
    dtypes: &[Option<DType>],
) -> std::result::Result<(), &'static str> {
    if of.args.iter().any(|arg| arg.index() >= dtypes.len()) {
        return Err("operand is not defined before");
    }
    if !of.args.iter().map(|arg| dtypes[arg.index()]).eq(of.body.inputs.iter().copied().map(Some)) {
        return Err("operand of another dtype");
    }
    let table = |number: &u32| kernel.tables.get(*number as usize);
    if !of.tables.iter().map(table).eq(of.body.tables.iter().map(Some)) {
        return Err("there is no such table");
    }
    Ok(())
}

/// Verifies what a loop carries, except its operands and the instructions of its body.
fn looped(of: &KernelLoop) -> std::result::Result<(), &'static str> {
    let KernelLoop { body, limit, is_numbered, .. } = of;
    let (carried, inputs) = (of.carried(), body.inputs.len());
    if carried == 0 || carried > inputs {
        return Err("a loop that carries nothing, or more than its body takes");
    }
    if !body.params.is_empty() || body.checks_division || body.outputs.iter().any(|o| o.sink != Sink::Store) {
        return Err("a body with the properties of a kernel");
    }
    if body.outputs.iter().any(|output| output.value.index() >= body.values()) {
        return Err("a body that returns no value");
    }
    if (limit.is_none() || body.loops.iter().any(|inner| inner.is_numbered)) && !is_numbered {
        return Err("a loop without a limit whose elements have no numbers");
    }
    if *is_numbered && (inputs == carried || body.inputs.last() != Some(&DType::Int64)) {
        return Err("numbers of another dtype");
    }
    let mut returned = body.outputs.iter().map(|output| typed(body, output.value));
    let mut returns = |dtype| returned.next() == Some(Some(dtype));
    if !returns(DType::Bool) {
        return Err("a condition that is no bool");
    }
    match body.inputs[..carried].iter().all(|&dtype| returns(dtype)) {
        true => Ok(()),
        false => Err("a carried value changes its dtype"),
    }
}

/// The dtype of a value; `None` for a loop, and for an op that does not take its operands.
fn typed(kernel: &Kernel, value: ValueId) -> Option<DType> {
    match kernel.definition(value) {
        Definition::Input(i) => Some(kernel.inputs[i]),
        Definition::Param(i) => Some(kernel.params[i]),
        Definition::Inst(i) => kernel.body[i].code.result(),
    }
}

fn internal(message: String) -> Error {
    Error::new(ErrorKind::Internal, format!("broken invariant, please report it: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostDeclaration;
    use crate::kernel::Inst;
    use crate::op::Op;
    use crate::reduction::Reduction;

    fn add(a: u32, b: u32) -> Inst {
        Inst { code: Code::apply(Op::Add, DType::Float32), args: [ValueId(a), ValueId(b), ValueId(0)] }
    }

    #[test]
    fn a_kernel_must_define_before_use_with_the_right_types() {
        let good = Kernel {
            inputs: vec![DType::Float32, DType::Int8],
            body: vec![add(0, 0), add(2, 0)],
            outputs: vec![ValueId(3).into()],
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
        assert!(broken(|k| k.outputs[0].value = ValueId(4)).contains("not a value"));
        assert!(broken(|k| k.outputs[0].sink = Sink::Reduce(Reduction::Any)).contains("does not take"));
        let call = |k: &mut Kernel| {
            let f =
                HostDeclaration::new("f", &[DType::Float32, DType::Int8], DType::Float32, 1).expect("a name");
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
        other.functions =
            vec![HostDeclaration::new("g", &[DType::Float32, DType::Int8], DType::Bool, 1).expect("a name")];
        assert!(kernel(&other).expect_err("broken").to_string().contains("a call of another function"));
        assert!(
            broken(|k| k.body[0].code = Code::apply(Op::LogicalAnd, DType::Float32))
                .contains("does not take")
        );
    }

    /// A loop that adds a captured value while the sum is less than another one.
    fn looped() -> Kernel {
        let less = Code::apply(Op::Less, DType::Float32);
        let item = Code::Item { item: 0, dtype: DType::Float32 };
        Kernel {
            inputs: vec![DType::Float32, DType::Float32, DType::Int64],
            loops: vec![KernelLoop {
                body: Kernel {
                    inputs: vec![DType::Float32, DType::Float32, DType::Int64],
                    body: vec![Inst { code: less, args: [ValueId(0), ValueId(1), ValueId(0)] }, add(0, 1)],
                    outputs: vec![ValueId(3).into(), ValueId(4).into()],
                    ..Kernel::default()
                },
                limit: None,
                is_numbered: true,
                args: vec![ValueId(0), ValueId(1), ValueId(2)],
                tables: Vec::new(),
            }],
            body: vec![
                Inst { code: Code::Loop(0), args: [ValueId(0); 3] },
                Inst { code: item, args: [ValueId(3), ValueId(0), ValueId(0)] },
            ],
            outputs: vec![ValueId(4).into()],
            ..Kernel::default()
        }
    }

    #[test]
    fn a_loop_must_carry_what_its_body_returns() {
        assert_eq!(kernel(&looped()), Ok(()));
        type Change = fn(&mut Kernel);
        let broken: &[(&str, Change)] = &[
            ("no such loop", |k| k.loops.clear()),
            ("not defined before", |k| k.loops[0].args[0] = ValueId(3)),
            ("another dtype", |k| k.loops[0].args.swap(1, 2)),
            ("another dtype", |k| k.loops[0].args.truncate(2)),
            ("condition that is no bool", |k| k.loops[0].body.outputs[0].value = ValueId(4)),
            ("changes its dtype", |k| k.loops[0].body.outputs[1].value = ValueId(3)),
            ("carries nothing", |k| k.loops[0].body.outputs.truncate(1)),
            ("carries nothing", |k| k.loops[0].body.outputs = vec![ValueId(3).into(); 5]),
            ("returns no value", |k| k.loops[0].body.outputs[1].value = ValueId(5)),
            ("have no numbers", |k| k.loops[0].is_numbered = false),
            ("numbers of another dtype", |k| k.loops[0].body.inputs[2] = DType::Int32),
            ("properties of a kernel", |k| k.loops[0].body.checks_division = true),
            ("properties of a kernel", |k| k.loops[0].body.params.push(DType::Int8)),
            ("properties of a kernel", |k| k.loops[0].body.outputs[1].sink = Sink::Scan(crate::Scan::Sum)),
            ("no such table", |k| k.loops[0].tables.push(0)),
            ("no such table", |k| {
                k.tables.push(DType::Int8);
                k.loops[0].tables.push(0);
                k.loops[0].body.tables.push(DType::Int16);
            }),
            ("no such table", |k| {
                k.tables.push(DType::Float32);
                let gather = Code::Gather { table: 0, dtype: DType::Float32 };
                k.loops[0].body.body.push(Inst { code: gather, args: [ValueId(2), ValueId(0), ValueId(0)] });
            }),
            ("not defined before", |k| k.loops[0].body.body[1].args[0] = ValueId(9)),
            ("item of what is no loop", |k| k.body.push(k.body[1])),
            ("does not carry", |k| k.body[1].code = Code::Item { item: 1, dtype: DType::Float32 }),
            ("does not carry", |k| k.body[1].code = Code::Item { item: 0, dtype: DType::Int8 }),
            ("an item twice", |k| k.body.push(k.body[1])),
            ("not a value", |k| k.outputs[0].value = ValueId(3)),
            ("another dtype", |k| k.body[1] = add(3, 0)),
            ("contain each other too often", |k| {
                for _ in 0..MAX_NESTING {
                    let body = Kernel { outputs: vec![ValueId(5).into(), ValueId(4).into()], ..k.clone() };
                    let less = Code::apply(Op::Less, DType::Float32);
                    k.loops[0].body = body;
                    k.loops[0]
                        .body
                        .body
                        .push(Inst { code: less, args: [ValueId(4), ValueId(1), ValueId(0)] });
                }
            }),
        ];
        for (i, (why, change)) in broken.iter().enumerate() {
            let mut k = looped();
            change(&mut k);
            if *why == "item of what is no loop" {
                k.body[2].args[0] = ValueId(4);
            }
            let error = kernel(&k).expect_err(why).to_string();
            assert!(error.contains(why), "{i}: {error}");
        }
    }
}
