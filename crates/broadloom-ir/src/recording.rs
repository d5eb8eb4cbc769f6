//! Recordings: the bodies of the op table's functions and of the conversions between dtypes, as SSA over the primitives.
//!
//! A body is recorded once per process, op, accuracy and dtype, on first use: the generic definition in `broadloom-math` is run on an
//! instance that records the primitives instead of computing. Compilers lower the primitives, and the cost of an op is the sum of
//! its primitives' costs, so compilers and the cost model contain no code for individual functions.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use broadloom_math::record::{Inst, Recorder, Sink, Var};
use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary};

use crate::accuracy::Accuracy;
use crate::op::{self, Op, Visitor};

/// The body of a function for operands of one dtype. Values are numbered: first the operands, then the result of each
/// instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    operands: u32,
    insts: Vec<Inst>,
    result: Var,
    cost: u32,
    latency: u32,
}

impl Recording {
    /// The number of operands.
    pub fn operands(&self) -> usize {
        self.operands as usize
    }

    /// The instructions, in the order of their results' numbers. Each result is used by a later instruction, or is the function's
    /// result.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// The value that the function returns. It may be one of the operands.
    pub fn result(&self) -> Var {
        self.result
    }

    /// The approximate cost per element: the sum of the primitives' costs. The unit is the time of one vector instruction.
    pub fn cost(&self) -> u32 {
        self.cost
    }

    /// The approximate latency in cycles: the sum over the longest chain of dependent primitives.
    pub fn latency(&self) -> u32 {
        self.latency
    }
}

impl fmt::Display for Recording {
    /// Writes a line for each instruction, `p3: float64 = fma p0, p1, p2`, and one for the result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, inst) in self.insts.iter().enumerate() {
            let (value, dtype) = (Var(self.operands + i as u32), inst.dtype);
            match inst.primitive.gives_mask() {
                true => writeln!(f, "{value:?}: mask({dtype}) = {inst}")?,
                false => writeln!(f, "{value:?}: {dtype} = {inst}")?,
            }
        }
        writeln!(f, "return {:?}", self.result)
    }
}

/// The body of an op, for an accuracy and the dtype of its operands; `None` if there is no such definition.
pub fn of(op: Op, accuracy: Accuracy, dtype: DType) -> Option<&'static Recording> {
    const OPS: usize = Op::ALL.len();
    const DTYPES: usize = DType::ALL.len();
    static TABLE: [[[OnceLock<Option<Recording>>; DTYPES]; OPS]; Accuracy::ALL.len()] =
        [const { [const { [const { OnceLock::new() }; DTYPES] }; OPS] }; _];
    let record = || {
        let mut list = List::of(op.operands());
        let result = op::dispatch(op, accuracy, dtype, Record(&mut list))?;
        Some(list.finish(result))
    };
    TABLE[accuracy as usize][op as usize][dtype as usize].get_or_init(record).as_ref()
}

/// The body of the conversion from one dtype to another.
pub fn of_cast(from: DType, to: DType) -> &'static Recording {
    const DTYPES: usize = DType::ALL.len();
    static TABLE: [OnceLock<Recording>; DTYPES * DTYPES] = [const { OnceLock::new() }; DTYPES * DTYPES];
    TABLE[from as usize * DTYPES + to as usize].get_or_init(|| {
        let mut list = List::of(1);
        let result = op::dispatch_cast(from, to, Record(&mut list));
        list.finish(result)
    })
}

/// The instructions recorded so far, without duplicates.
struct List {
    operands: u32,
    insts: Vec<Inst>,
    known: HashMap<Inst, Var>,
}

impl List {
    fn of(operands: usize) -> List {
        List { operands: operands as u32, insts: Vec::new(), known: HashMap::new() }
    }

    /// Completes the recording, without the instructions whose results are not needed (DCE).
    fn finish(self, result: Var) -> Recording {
        let operands = self.operands as usize;
        let mut needed = vec![false; operands + self.insts.len()];
        needed[result.index()] = true;
        for (i, inst) in self.insts.iter().enumerate().rev() {
            if needed[operands + i] {
                inst.args().iter().for_each(|arg| needed[arg.index()] = true);
            }
        }
        let mut insts = Vec::with_capacity(self.insts.len());
        let mut place: Vec<Var> = (0..self.operands).map(Var).collect();
        for (i, mut inst) in self.insts.into_iter().enumerate() {
            place.push(Var((operands + insts.len()) as u32));
            if needed[operands + i] {
                let read = inst.primitive.operands();
                inst.args[..read].iter_mut().for_each(|arg| *arg = place[arg.index()]);
                insts.push(inst);
            }
        }
        let halves: u32 = insts.iter().map(|inst| inst.primitive.half_cost(inst.dtype)).sum();
        let cost = if halves == 1 { 1 } else { halves / 2 };
        let result = place[result.index()];
        let mut known_after = vec![0; operands];
        for inst in &insts {
            let begun = inst.args().iter().map(|arg| known_after[arg.index()]).max().unwrap_or(0);
            known_after.push(begun + inst.primitive.latency(inst.dtype));
        }
        let latency = known_after[result.index()];
        Recording { operands: self.operands, insts, result, cost, latency }
    }
}

impl Sink for List {
    fn push(&mut self, inst: Inst) -> Var {
        let next = Var(self.operands + self.insts.len() as u32);
        let var = *self.known.entry(inst).or_insert(next);
        if var == next {
            self.insts.push(inst);
        }
        var
    }
}

/// A visitor that records the definition of one function. The operands are the first values of the list.
struct Record<'l>(&'l mut List);

impl Visitor for Record<'_> {
    type Out = Var;

    fn unary<F: Unary<T>, T: Elem>(self) -> Var {
        F::call(&mut Recorder::new(self.0), Var(0))
    }

    fn binary<F: Binary<T>, T: Elem>(self) -> Var {
        F::call(&mut Recorder::new(self.0), Var(0), Var(1))
    }

    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> Var {
        F::call(&mut Recorder::new(self.0), Var(0), Var(1), Var(2))
    }

    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> Var {
        F::call(&mut Recorder::new(self.0), Var(0), Var(1), Var(2))
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> Var {
        T::cast(&mut Recorder::new(self.0), Var(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_its_definition_in_text() {
        let maximum = of(Op::Maximum, Accuracy::Fast, DType::Int32).expect("takes int32").to_string();
        assert_eq!(maximum, "p2: mask(int32) = cmp_gt p0, p1\np3: int32 = select p2, p0, p1\nreturn p3\n");
        let positive = of(Op::Positive, Accuracy::Fast, DType::Int32).expect("takes int32");
        assert_eq!((positive.insts().len(), positive.to_string().as_str()), (0, "return p0\n"));
        assert!(of(Op::Sin, Accuracy::Fast, DType::Int32).is_none());
    }

    /// Each value is defined before its first use, and each is used.
    #[test]
    fn recordings_are_in_order_and_have_no_dead_values() {
        let pairs = Op::ALL.iter().flat_map(|&op| DType::ALL.iter().map(move |&dtype| (op, dtype)));
        let ops = pairs.flat_map(|(op, dtype)| Accuracy::ALL.map(|accuracy| of(op, accuracy, dtype)));
        let casts = DType::ALL.iter().flat_map(|&a| DType::ALL.iter().map(move |&b| of_cast(a, b)));
        for recording in ops.flatten().chain(casts) {
            let mut read = vec![false; recording.operands() + recording.insts().len()];
            read[recording.result().index()] = true;
            for (i, inst) in recording.insts().iter().enumerate() {
                for arg in inst.args() {
                    assert!(arg.index() < recording.operands() + i, "{recording}");
                    read[arg.index()] = true;
                }
            }
            assert!(read[recording.operands()..].iter().all(|&read| read), "{recording}");
        }
    }
}
