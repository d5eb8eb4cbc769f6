//! Instructions before registers are chosen.
//!
//! In: nothing. Out: what [`crate::select`] makes and [`crate::allocate`] takes: [`Inst`]s over virtual registers, each
//! set once, in [`Line`]s, the blocks that run one after the other. Must hold: sources stand in the order of the encoding.

use smallvec::SmallVec;

use crate::forms::Op;

/// A virtual register: set once, or a block's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Reg(pub u32);

impl Reg {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The files of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// 64-bit integers and addresses.
    General,
    /// Vectors, and scalar floats in their lowest lane.
    Vector,
    /// A bit per lane.
    Mask,
}

/// What is known of a virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Set by an instruction or a jump.
    Set(Class),
    /// 64 bits that repeat throughout a vector: made wherever they are needed.
    Constant(u64),
    /// An integer: made wherever it is needed.
    Integer(i64),
}

impl Kind {
    pub fn class(self) -> Class {
        match self {
            Kind::Set(class) => class,
            Kind::Constant(_) => Class::Vector,
            Kind::Integer(_) => Class::General,
        }
    }
}

/// The length of a vector operation, in the order of the encodings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Size {
    X,
    Y,
    Z,
}

impl Size {
    /// The least register that holds so many bytes.
    pub fn of_bytes(bytes: u32) -> Size {
        match bytes {
            0..=16 => Size::X,
            17..=32 => Size::Y,
            _ => Size::Z,
        }
    }

    pub fn bytes(self) -> u32 {
        16 << self as u32
    }
}

/// Elements of which a row may have fewer than a block: of the last block only the first `left` are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Bytes of an element.
    pub element: u8,
    /// The vector's first lane, counted from the block's.
    pub lane: u16,
}

/// Where memory is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub base: Base,
    /// Times 2^shift.
    pub index: Option<(Reg, u8)>,
    pub offset: i32,
    /// Whether it is an element of a row.
    pub part: Option<Part>,
    /// Bytes of a scalar that all lanes take; 0 for memory as long as the operand.
    pub broadcast: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    Reg(Reg),
    /// The function's own stack slots.
    Frame,
}

/// An operand that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Reg(Reg),
    Mem(Address),
}

/// One instruction of the machine.
#[derive(Clone, Debug)]
pub struct Inst {
    pub op: Op,
    pub size: Size,
    pub def: Option<Reg>,
    /// In the order of the encoding; with `tied`, the first one is the register that `def` takes over.
    pub sources: SmallVec<[Source; 3]>,
    pub tied: bool,
    pub immediate: Option<i32>,
    /// Lanes that are written; the others stay what `def` was (if tied) or become 0.
    pub mask: Option<Reg>,
    pub zeroing: bool,
}

impl Inst {
    pub fn new(op: Op, size: Size, def: Option<Reg>, sources: &[Source]) -> Inst {
        Inst {
            op,
            size,
            def,
            sources: SmallVec::from_slice(sources),
            tied: false,
            immediate: None,
            mask: None,
            zeroing: false,
        }
    }

    pub fn tied(self) -> Inst {
        Inst { tied: true, ..self }
    }

    pub fn immediate(self, immediate: i32) -> Inst {
        Inst { immediate: Some(immediate), ..self }
    }

    /// Lanes outside the mask become 0.
    pub fn zeroing(self, mask: Reg) -> Inst {
        Inst { mask: Some(mask), zeroing: true, ..self }
    }

    /// Lanes outside the mask are the first source's.
    pub fn merging(self, mask: Reg) -> Inst {
        Inst { mask: Some(mask), ..self }
    }

    /// The registers that it reads.
    pub fn reads(&self) -> impl Iterator<Item = Reg> + '_ {
        let of = |source: &Source| match *source {
            Source::Reg(reg) => [Some(reg), None],
            Source::Mem(address) => address.reads(),
        };
        self.sources.iter().flat_map(of).flatten().chain(self.mask)
    }
}

impl Address {
    pub fn reads(&self) -> [Option<Reg>; 2] {
        let base = match self.base {
            Base::Reg(reg) => Some(reg),
            Base::Frame => None,
        };
        [base, self.index.map(|(reg, _)| reg)]
    }
}

/// Conditions of jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
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
    pub fn inverse(self) -> Condition {
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

/// A step of a line.
#[derive(Clone, Debug)]
pub enum Step {
    Inst(Inst),
    /// Calls the address with these arguments; there is no result.
    Call {
        target: Source,
        arguments: SmallVec<[Reg; 6]>,
    },
    /// Leaves for cold code if the condition holds, and comes back with the other values for the parameters.
    Cold {
        condition: Condition,
        steps: Vec<Step>,
        /// The parameter, its value on the line, and its value from the cold code.
        parameters: SmallVec<[(Reg, Reg, Reg); 8]>,
    },
    /// The head of a loop: its parameters and their first values.
    Loop {
        parameters: SmallVec<[(Reg, Reg); 2]>,
        /// The last step of the loop.
        end: u32,
        /// Where a row's last block has fewer elements than the others: a loop of blocks.
        partial: Option<Partial>,
    },
    /// Back to the head that stands there, if the condition holds, with values for its parameters.
    Back {
        head: u32,
        condition: Condition,
        values: SmallVec<[Reg; 2]>,
    },
    Return,
}

/// How a loop of blocks ends.
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    /// The row's elements.
    pub columns: Reg,
    /// Elements of a block.
    pub lanes: u32,
}

/// A function: the steps in the order in which they run, but for loops and cold code.
#[derive(Debug)]
pub struct Line {
    pub steps: Vec<Step>,
    pub kinds: Vec<Kind>,
    /// The function's parameters.
    pub parameters: Vec<Reg>,
    /// Bytes of the function's own stack slots, aligned to 64.
    pub frame: u32,
}
