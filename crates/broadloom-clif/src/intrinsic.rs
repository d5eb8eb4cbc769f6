//! Emits calls of intrinsics: operations on vectors of more than 128 bits for which CLIF has no instruction.
//!
//! Each [`Intrinsic`] is called as an extern function, which is declared once for each combination of argument and
//! result types.

use std::collections::HashMap;

use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, InstBuilder, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// The types of the arguments of a call, and the type of its result.
type Types = (SmallVec<[Type; 3]>, Option<Type>);

/// The declarations of the intrinsics that a function calls.
pub struct Intrinsics {
    call_conv: CallConv,
    signatures: HashMap<Types, SigRef, FxBuildHasher>,
    functions: HashMap<(Intrinsic, SigRef), FuncRef, FxBuildHasher>,
}

impl Intrinsics {
    /// An empty list. All later declarations have this calling convention.
    pub fn new(call_conv: CallConv) -> Intrinsics {
        Intrinsics { call_conv, signatures: HashMap::default(), functions: HashMap::default() }
    }

    /// Calls an intrinsic. Returns its result if it has a result type.
    pub fn call(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        intrinsic: Intrinsic,
        args: &[Value],
        result: Option<Type>,
    ) -> Option<Value> {
        let function = self.function(builder, intrinsic, args, result);
        let call = builder.ins().call(function, args);
        builder.func.dfg.inst_results(call).first().copied()
    }

    fn function(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        intrinsic: Intrinsic,
        args: &[Value],
        result: Option<Type>,
    ) -> FuncRef {
        let types = args.iter().map(|&v| builder.func.dfg.value_type(v)).collect();
        let (func, call_conv) = (&mut builder.func, self.call_conv);
        let signature = *self.signatures.entry((types, result)).or_insert_with_key(|(types, result)| {
            let mut signature = Signature::new(call_conv);
            signature.params.extend(types.iter().map(|&ty| AbiParam::new(ty)));
            signature.returns.extend(result.map(AbiParam::new));
            func.import_signature(signature)
        });
        *self.functions.entry((intrinsic, signature)).or_insert_with(|| {
            let name = func.declare_imported_user_function(intrinsic.name());
            let name = ExternalName::user(name);
            func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
        })
    }
}
