//! Machine instructions over virtual registers: the output of instruction selection and the input of register allocation.
//!
//! A function is one linear instruction sequence. Loops are marked by their head and the branches back to it;
//! out-of-line code is nested in the branch that enters it. Each virtual register has one definition, or is a parameter
//! of the function, of a loop or of a join. The sources of an instruction are in the order of the machine instruction's
//! operands.

use smallvec::SmallVec;

use crate::encodings::Encoding;
pub(crate) use crate::length::VectorLength;

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct VReg(pub(crate) u32);

impl VReg {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The register classes of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RegClass {
    /// 64-bit integers and addresses.
    General,
    /// Vectors, and scalar floats in their lowest lane.
    Vector,
    /// Mask registers of AVX-512, one bit per lane.
    Mask,
}

impl RegClass {
    pub(crate) const ALL: [RegClass; 3] = [RegClass::General, RegClass::Vector, RegClass::Mask];
}

/// How a virtual register gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VRegKind {
    /// The register is the result of an instruction, or a parameter.
    Defined(RegClass),
    /// A vector filled with copies of a 64-bit pattern, rematerialised wherever it is read.
    Constant(u64),
    /// An integer constant, rematerialised wherever it is read.
    Integer(i64),
}

impl VRegKind {
    pub(crate) fn class(self) -> RegClass {
        match self {
            VRegKind::Defined(class) => class,
            VRegKind::Constant(_) => RegClass::Vector,
            VRegKind::Integer(_) => RegClass::General,
        }
    }
}

/// Describes a vector load or store that is masked in the tail of a row, where fewer elements remain than a block has
/// lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TailAccess {
    /// The size of an element in bytes.
    pub(crate) element: u8,
    /// The index of the vector's first lane among the lanes of the block.
    pub(crate) lane: u16,
}

/// A memory address over virtual registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VAddress {
    pub(crate) base: VBase,
    /// The index register, and log2 of its scale. For a gather it is a vector of 64-bit indices.
    pub(crate) index: Option<(VReg, u8)>,
    pub(crate) offset: i32,
    pub(crate) tail: Option<TailAccess>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VBase {
    Reg(VReg),
    /// The area of the function's explicit stack slots.
    StackSlots,
}

/// An operand that an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VOperand {
    Reg(VReg),
    Mem(VAddress),
}

impl VOperand {
    pub(crate) fn reg(self) -> Option<VReg> {
        match self {
            VOperand::Reg(reg) => Some(reg),
            VOperand::Mem(_) => None,
        }
    }

    /// The virtual registers that the operand reads.
    pub(crate) fn reads(self) -> impl Iterator<Item = VReg> {
        let reads = match self {
            VOperand::Reg(reg) => [Some(reg), None],
            VOperand::Mem(address) => address.reads(),
        };
        reads.into_iter().flatten()
    }
}

impl VAddress {
    pub(crate) fn reads(&self) -> [Option<VReg>; 2] {
        let base = match self.base {
            VBase::Reg(reg) => Some(reg),
            VBase::StackSlots => None,
        };
        [base, self.index.map(|(reg, _)| reg)]
    }
}

/// One machine instruction whose operands are virtual registers and memory addresses.
#[derive(Clone, Debug)]
pub(crate) struct VInst {
    pub(crate) encoding: Encoding,
    pub(crate) length: VectorLength,
    pub(crate) def: Option<VReg>,
    /// The sources in the order of the machine instruction's operands. If `tied`, `def` overwrites the register of the
    /// first one.
    pub(crate) sources: SmallVec<[VOperand; 3]>,
    pub(crate) tied: bool,
    pub(crate) immediate: Option<i32>,
    /// The write mask. Lanes outside of the mask become 0 if `zeroing`, otherwise they are taken from the first source.
    pub(crate) mask: Option<VReg>,
    pub(crate) zeroing: bool,
}

impl VInst {
    pub(crate) fn new(
        encoding: Encoding,
        length: VectorLength,
        def: Option<VReg>,
        sources: &[VOperand],
    ) -> VInst {
        VInst {
            encoding,
            length,
            def,
            sources: SmallVec::from_slice(sources),
            tied: false,
            immediate: None,
            mask: None,
            zeroing: false,
        }
    }

    pub(crate) fn tied(self) -> VInst {
        VInst { tied: true, ..self }
    }

    pub(crate) fn immediate(self, immediate: i32) -> VInst {
        VInst { immediate: Some(immediate), ..self }
    }

    /// Masks the instruction; lanes outside of the mask become 0.
    pub(crate) fn zeroing(self, mask: VReg) -> VInst {
        VInst { mask: Some(mask), zeroing: true, ..self }
    }

    /// Masks the instruction; lanes outside of the mask are taken from the first source.
    pub(crate) fn merging(self, mask: VReg) -> VInst {
        VInst { mask: Some(mask), ..self }
    }

    /// The virtual registers that the instruction reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = VReg> + '_ {
        self.sources.iter().flat_map(|source| source.reads()).chain(self.mask)
    }
}

/// Conditions of branches and conditional moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

impl Condition {
    pub(crate) fn inverse(self) -> Condition {
        use Condition::*;
        match self {
            Equal => NotEqual,
            NotEqual => Equal,
            Less => GreaterEqual,
            LessEqual => Greater,
            Greater => LessEqual,
            GreaterEqual => Less,
            Below => AboveEqual,
            BelowEqual => Above,
            Above => BelowEqual,
            AboveEqual => Below,
        }
    }
}

/// A parameter of a join, the point where out-of-line code returns to the inline path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinParameter {
    pub(crate) parameter: VReg,
    /// The parameter's value if the out-of-line code was not entered.
    pub(crate) inline: VReg,
    /// The parameter's value at the end of the out-of-line code.
    pub(crate) cold: VReg,
}

/// A parameter of a loop head, with its value on entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopParameter {
    pub(crate) parameter: VReg,
    pub(crate) initial: VReg,
}

/// Marks a loop over the blocks of a row whose last block may have fewer elements than the others. That block is
/// computed with masks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailLoop {
    /// The number of elements of the row, determined at run time.
    pub(crate) columns: VReg,
    /// The number of elements of a whole block.
    pub(crate) lanes: u32,
}

/// A machine instruction, or a point where control flow splits or joins.
#[derive(Clone, Debug)]
pub(crate) enum MInst {
    Op(VInst),
    /// Calls an address with integer arguments and without a result.
    Call {
        target: VReg,
        arguments: SmallVec<[VReg; 6]>,
    },
    /// Branches to out-of-line code if the condition holds. At its end that code returns to the join, the point after
    /// this instruction, with values of its own for the join's parameters.
    Cold {
        condition: Condition,
        body: Vec<MInst>,
        parameters: SmallVec<[JoinParameter; 8]>,
    },
    /// The head of a loop.
    Loop {
        parameters: SmallVec<[LoopParameter; 2]>,
        /// The index of the loop's last instruction.
        end: u32,
        tail: Option<TailLoop>,
    },
    /// If the condition holds, branches back to the loop head at the index `head` with new values for the loop's
    /// parameters.
    Back {
        head: u32,
        condition: Condition,
        values: SmallVec<[VReg; 2]>,
    },
    Return,
}

impl MInst {
    /// Calls `f` with every virtual register that the instruction reads, including reads in out-of-line code.
    pub(crate) fn each_read(&self, f: &mut impl FnMut(VReg)) {
        match self {
            MInst::Op(_) | MInst::Call { .. } => self.each_read_of_straight_code(f),
            MInst::Cold { body, parameters, .. } => {
                for parameter in parameters {
                    f(parameter.inline);
                    f(parameter.cold);
                }
                body.iter().for_each(|inst| inst.each_read_of_straight_code(f));
            }
            MInst::Loop { parameters, tail, .. } => {
                parameters.iter().for_each(|p| f(p.initial));
                tail.iter().for_each(|tail| f(tail.columns));
            }
            MInst::Back { values, .. } => values.iter().copied().for_each(f),
            MInst::Return => {}
        }
    }

    fn each_read_of_straight_code(&self, f: &mut impl FnMut(VReg)) {
        match self {
            MInst::Op(inst) => inst.reads().for_each(f),
            MInst::Call { target, arguments } => {
                f(*target);
                arguments.iter().copied().for_each(f);
            }
            _ => {}
        }
    }

    /// Calls `f` with every virtual register that the instruction defines, including definitions in out-of-line code.
    pub(crate) fn each_def(&self, f: &mut impl FnMut(VReg)) {
        match self {
            MInst::Op(inst) => inst.def.into_iter().for_each(f),
            MInst::Cold { body, parameters, .. } => {
                let op = |inst: &MInst| if let MInst::Op(inst) = inst { inst.def } else { None };
                body.iter().filter_map(op).for_each(&mut *f);
                parameters.iter().for_each(|p| f(p.parameter));
            }
            MInst::Loop { parameters, .. } => parameters.iter().for_each(|p| f(p.parameter)),
            _ => {}
        }
    }
}

/// The position of an instruction in a [`VFunction`]. For an instruction in out-of-line code, `index` is the index of
/// the branch that enters that code and `cold` is the instruction's index within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InstId {
    pub(crate) index: u32,
    pub(crate) cold: Option<u32>,
}

/// A function over virtual registers.
#[derive(Debug)]
pub(crate) struct VFunction {
    pub(crate) insts: Vec<MInst>,
    pub(crate) kinds: Vec<VRegKind>,
    pub(crate) parameters: Vec<VReg>,
    /// The size in bytes of all explicit stack slots, each of which is aligned to 64 bytes.
    pub(crate) stack_slot_bytes: u32,
}

impl VFunction {
    pub(crate) fn class(&self, reg: VReg) -> RegClass {
        self.kinds[reg.index()].class()
    }

    pub(crate) fn is_constant(&self, reg: VReg) -> bool {
        !matches!(self.kinds[reg.index()], VRegKind::Defined(_))
    }
}
