//! Writes programs as CLIF text, with the same loops as the emitter's functions. Apart from the structure of the
//! blocks, nothing is adapted to the back end.

use std::fmt::Write;

use broadloom_wide::{Convention, Intrinsic, Level};

use crate::machine;
use crate::program::{Code, Lane, RowProgram};

/// The parameters of a function's loops and of its compilation.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub level: Level,
    pub convention: Convention,
    /// The number of lanes of a vector.
    pub lanes: usize,
    /// The number of vectors of a block.
    pub vectors: usize,
    /// The size in bytes of a stack slot that is written but never read; 0 for none.
    pub idle_slot: usize,
}

impl Shape {
    pub fn new(level: Level, lanes: usize) -> Shape {
        Shape { level, convention: Convention::SystemV, lanes, vectors: 1, idle_slot: 0 }
    }

    pub fn block(self) -> usize {
        self.lanes * self.vectors
    }
}

/// The size in bytes of each part of the frame that a cold block shares with its helper.
pub const PART: usize = 64;

struct Writer<'p> {
    program: &'p RowProgram,
    shape: Shape,
    head: String,
    body: String,
    values: usize,
    blocks: usize,
    signatures: Vec<String>,
    functions: Vec<(Intrinsic, usize)>,
    constants: Vec<String>,
    rare: Option<usize>,
}

/// The CLIF function of a program.
pub fn function(program: &RowProgram, shape: Shape) -> String {
    let mut writer = Writer {
        program,
        shape,
        head: String::new(),
        body: String::new(),
        values: 6,
        blocks: 5,
        signatures: Vec::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        rare: None,
    };
    writer.write();
    writer.text()
}

fn convention_name(convention: Convention) -> &'static str {
    match convention {
        Convention::SystemV => "system_v",
        Convention::Windows => "windows_fastcall",
    }
}

impl Writer<'_> {
    fn text(self) -> String {
        let convention = convention_name(self.shape.convention);
        let mut out = format!("function u0:0(i64, i64, i64, i64, i64, i64) {convention} {{\n");
        writeln!(out, "    ss0 = explicit_slot {}", 4 * PART).expect("writes");
        if self.shape.idle_slot > 0 {
            writeln!(out, "    ss1 = explicit_slot {}", self.shape.idle_slot).expect("writes");
        }
        for (i, constant) in self.constants.iter().enumerate() {
            writeln!(out, "    const{i} = {constant}").expect("writes");
        }
        for (i, signature) in self.signatures.iter().enumerate() {
            writeln!(out, "    sig{i} = {signature} {convention}").expect("writes");
        }
        for (i, (intrinsic, signature)) in self.functions.iter().enumerate() {
            let name = intrinsic.name();
            writeln!(out, "    fn{i} = u{}:{} sig{signature}", name.namespace, name.index).expect("writes");
        }
        out + &self.head + &self.body + "}\n"
    }

    fn line(&mut self, text: &str) {
        writeln!(self.body, "    {text}").expect("writes");
    }

    /// Writes an instruction, and returns the number of its value.
    fn value(&mut self, text: &str) -> usize {
        let v = self.values;
        self.values += 1;
        self.line(&format!("v{v} = {text}"));
        v
    }

    fn integer(&mut self, value: i64) -> usize {
        self.value(&format!("iconst.i64 {value}"))
    }

    fn vector(&self, lane: Lane) -> String {
        format!("{}x{}", lane.name(), self.shape.lanes)
    }

    fn signature(&mut self, text: String) -> usize {
        let known = self.signatures.iter().position(|s| *s == text);
        known.unwrap_or_else(|| {
            self.signatures.push(text);
            self.signatures.len() - 1
        })
    }

    fn function(&mut self, intrinsic: Intrinsic, signature: String) -> usize {
        let signature = self.signature(signature);
        let known = self.functions.iter().position(|f| *f == (intrinsic, signature));
        known.unwrap_or_else(|| {
            self.functions.push((intrinsic, signature));
            self.functions.len() - 1
        })
    }

    fn write(&mut self) {
        let operands = self.program.inputs.len() + self.program.outputs.len();
        let block = self.shape.block() as i64;
        let parts = self.shape.level == Level::Avx512;
        self.body += "block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):\n";
        if self.shape.idle_slot > 0 {
            let address = self.value("stack_addr.i64 ss1");
            self.line(&format!("store notrap v0, v{address}"));
        }
        let zero = self.integer(0);
        let one = self.integer(1);
        let step = self.integer(block);
        self.line(&format!("jump block1(v{zero})"));
        let row = self.values;
        self.values += 1;
        writeln!(self.body, "block1(v{row}: i64):").expect("writes");
        let mut rows = Vec::new();
        for i in 0..operands {
            let base = self.value(&format!("load.i64 notrap aligned v0+{}", 16 * i));
            let stride = self.value(&format!("load.i64 notrap aligned v0+{}", 16 * i + 8));
            let offset = self.value(&format!("imul v{stride}, v{row}"));
            rows.push(self.value(&format!("iadd v{base}, v{offset}")));
        }
        self.line(&format!("jump block2(v{zero})"));
        let index = self.values;
        self.values += 1;
        writeln!(self.body, "block2(v{index}: i64):").expect("writes");
        let left = if parts { Some(self.value(&format!("isub v4, v{index}"))) } else { None };
        let mut values = vec![vec![0; self.program.nodes.len()]; self.shape.vectors];
        for (part, values) in values.iter_mut().enumerate() {
            self.nodes(&rows, index, left, part, values);
        }
        for (part, values) in values.iter().enumerate() {
            for (i, &output) in self.program.outputs.iter().enumerate() {
                let lane = self.program.lane(output);
                let to = rows[self.program.inputs.len() + i];
                self.store(lane, values[output], to, index, left, part);
            }
        }
        let next = self.value(&format!("iadd v{index}, v{step}"));
        if parts {
            let more = self.value(&format!("icmp slt v{next}, v4"));
            self.line(&format!("brif v{more}, block2(v{next}), block3"));
        } else {
            let within = self.value(&format!("icmp sle v{next}, v4"));
            self.line(&format!("brif v{within}, block2(v{next}), block5"));
            self.body += "block5:\n";
            let columns = self.value(&format!("iadd v4, v{step}"));
            let done = self.value(&format!("icmp sge v{next}, v{columns}"));
            self.line(&format!("brif v{done}, block3, block2(v4)"));
        }
        self.body += "block3:\n";
        let following = self.value(&format!("iadd v{row}, v{one}"));
        let more = self.value(&format!("icmp ult v{following}, v3"));
        self.line(&format!("brif v{more}, block1(v{following}), block4"));
        self.body += "block4:\n";
        self.line("return");
    }

    /// The address of a vector's first element, and the number of elements from there to the end of the row.
    fn place(
        &mut self,
        lane: Lane,
        row: usize,
        index: usize,
        left: Option<usize>,
        part: usize,
    ) -> (usize, Option<usize>) {
        let shift = self.integer(lane.bytes().trailing_zeros().into());
        let offset = self.value(&format!("ishl v{index}, v{shift}"));
        let address = self.value(&format!("iadd v{row}, v{offset}"));
        if part == 0 {
            return (address, left);
        }
        let lanes = part * self.shape.lanes;
        let by = self.integer((lanes * lane.bytes()) as i64);
        let address = self.value(&format!("iadd v{address}, v{by}"));
        let left = left.map(|left| {
            let fewer = self.integer(-(lanes as i64));
            self.value(&format!("iadd v{left}, v{fewer}"))
        });
        (address, left)
    }

    fn store(
        &mut self,
        lane: Lane,
        value: usize,
        row: usize,
        index: usize,
        left: Option<usize>,
        part: usize,
    ) {
        let (address, left) = self.place(lane, row, index, left, part);
        match left {
            Some(left) => {
                let signature = format!("({}, i64, i64)", self.vector(lane));
                let f = self.function(Intrinsic::StorePart, signature);
                self.line(&format!("call fn{f}(v{value}, v{address}, v{left})"));
            }
            None => self.line(&format!("store notrap v{value}, v{address}")),
        }
    }

    fn nodes(
        &mut self,
        rows: &[usize],
        index: usize,
        left: Option<usize>,
        part: usize,
        values: &mut [usize],
    ) {
        let program = self.program;
        for (i, node) in program.nodes.iter().enumerate() {
            let ty = self.vector(node.lane);
            let v = |x: usize| values[x];
            values[i] = match node.code {
                Code::Input(input) => {
                    let (address, left) = self.place(node.lane, rows[input], index, left, part);
                    match left {
                        Some(left) => {
                            let f = self.function(Intrinsic::LoadPart, format!("(i64, i64) -> {ty}"));
                            self.value(&format!("call fn{f}(v{address}, v{left})"))
                        }
                        None => self.value(&format!("load.{ty} notrap v{address}")),
                    }
                }
                Code::Constant(bits) => {
                    // The constant has 16 bytes, which the reader accepts; `machine::parse` extends it to the size of
                    // its type.
                    let digits = 2 * node.lane.bytes();
                    let bits = bits & node.lane.all_ones();
                    let text = format!("0x{}", format!("{bits:0digits$x}").repeat(32 / digits));
                    let known = self.constants.iter().position(|c| *c == text);
                    let at = known.unwrap_or_else(|| {
                        self.constants.push(text);
                        self.constants.len() - 1
                    });
                    self.value(&format!("vconst.{ty} const{at}"))
                }
                Code::Unary(name, x) => self.value(&format!("{name} v{}", v(x))),
                Code::Binary(name, x, y) => self.value(&format!("{name} v{}, v{}", v(x), v(y))),
                Code::Shift(name, x, count) => {
                    let x = v(x);
                    let count = self.value(&format!("iconst.i32 {count}"));
                    self.value(&format!("{name} v{x}, v{count}"))
                }
                Code::Fma(x, y, z) => self.value(&format!("fma v{}, v{}, v{}", v(x), v(y), v(z))),
                Code::Compare(condition, x, y) => {
                    let name = if program.lane(x).is_float() { "fcmp" } else { "icmp" };
                    self.value(&format!("{name} {condition} v{}, v{}", v(x), v(y)))
                }
                Code::Select(m, x, y) => {
                    let (x, y) = (v(x), v(y));
                    let m = match node.lane.is_float() {
                        true => self.value(&format!("bitcast.{ty} little v{}", v(m))),
                        false => v(m),
                    };
                    self.value(&format!("bitselect v{m}, v{x}, v{y}"))
                }
                Code::Convert(intrinsic, x) => {
                    let signature = format!("({}) -> {ty}", self.vector(program.lane(x)));
                    let f = self.function(intrinsic, signature);
                    self.value(&format!("call fn{f}(v{})", v(x)))
                }
                Code::Rare(m, x, fast) => {
                    let [m, x, fast] = [m, x, fast].map(v);
                    self.rare(node.lane, m, x, fast)
                }
            };
        }
    }

    fn rare(&mut self, lane: Lane, m: usize, x: usize, fast: usize) -> usize {
        let ty = self.vector(lane);
        let any = self.value(&format!("vany_true v{m}"));
        let (cold, join) = (self.blocks + 1, self.blocks + 2);
        self.blocks += 2;
        self.line(&format!("brif v{any}, block{cold}, block{join}(v{fast})"));
        writeln!(self.body, "block{cold} cold:").expect("writes");
        let frame = self.value("stack_addr.i64 ss0");
        for (i, v) in [m, x, fast].into_iter().enumerate() {
            self.line(&format!("store notrap v{v}, v{frame}+{}", i * PART));
        }
        let signature = match self.rare {
            Some(signature) => signature,
            None => self.signature("(i64, i64, i64)".to_string()),
        };
        self.rare = Some(signature);
        let kind = self.integer(machine::kind_of(lane));
        let lanes = self.integer(self.shape.lanes as i64);
        let helper = self.integer(machine::helper(self.shape.convention) as i64);
        self.line(&format!("call_indirect sig{signature}, v{helper}(v{frame}, v{kind}, v{lanes})"));
        let result = self.value(&format!("load.{ty} notrap v{frame}+{}", 3 * PART));
        self.line(&format!("jump block{join}(v{result})"));
        let joined = self.values;
        self.values += 1;
        writeln!(self.body, "block{join}(v{joined}: {ty}):").expect("writes");
        joined
    }
}
