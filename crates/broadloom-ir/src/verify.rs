//! The verifier of kernels, which runs in debug builds and in tests. It checks that
//!
//! - each operand is an input, a parameter or the result of an earlier instruction
//! - the operands of an instruction have the dtypes that its code takes, and the op takes that dtype
//! - a call refers to one of the kernel's functions and has the signature of that function
//! - each output is a value of the kernel, and its reduction or scan takes the value's dtype

use broadloom_math::DType;

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Code, Kernel, Sink};

/// Verifies a kernel.
///
/// # Errors
/// [`ErrorKind::Internal`], whose message describes the first violation.
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
    for output in &kernel.outputs {
        let Some(&dtype) = dtypes.get(output.value.index()) else {
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

fn internal(message: String) -> Error {
    Error::new(ErrorKind::Internal, format!("broken invariant, please report it: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostDeclaration;
    use crate::kernel::{Inst, ValueId};
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
}
