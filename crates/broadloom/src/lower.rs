//! From handles to a graph, through a key that says which graph.
//!
//! In: arrays. Out: [`Walk`]: the key, the memory and the literals that the graph's slots stand for, the host functions;
//! of a kernel's expressions a [`Template`] of keys; and the [`graph`] of a key. Must hold: the graph is a function of key
//! and literal values, and the key alone fixes it
//! but for those values: it is built from nothing else. No recursion along the expression.

// The key is a list of words. A node is a head (bits 0…7 its form, 8…15 dtype, op or sort of view, 16…31 a count
// or a class, 32…63 a slot or the first operand) and what the form asks for; operands are numbers of earlier
// nodes. The roots stand behind the nodes, and behind them the ids of the host functions, which are all that a process
// adds to the words.

mod template;

use std::hash::Hash;
use std::sync::Arc;

use broadloom_core::graph::{Arg, Graph, IntDivision, MAX_NODES, NodeId};
use broadloom_core::layout::{Slice, Strides};
use broadloom_core::shape::MAX_RANK;
use broadloom_core::{DType, Error, ErrorKind, Layout, Op, Promotion, Result, Scalar, Shape, View};
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::array::Array;
use crate::engine::Options;
use crate::expr::{Kind, Leaf};
use template::Declared;

pub(crate) use template::Template;

const DATA: u64 = 1;
const CONST: u64 = 2;
const APPLY: u64 = 3;
const CAST: u64 = 4;
const VIEW: u64 = 5;
const ROOTS: u64 = 6;
const HOST: u64 = 7;

const BROADCAST_TO: u64 = 0;
const PERMUTE: u64 = 1;
const SLICE: u64 = 2;
const RESHAPE: u64 = 3;

/// What roots consist of.
#[derive(Default)]
pub(crate) struct Walk<'e, 'a> {
    key: SmallVec<[u64; 64]>,
    slots: SmallVec<[&'e Leaf<'a>; 8]>,
    literals: SmallVec<[Scalar; 8]>,
    functions: Functions,
}

impl<'e, 'a> Walk<'e, 'a> {
    /// Walks the expressions of the roots.
    ///
    /// Errors: more nodes, a greater depth or a higher rank than the options allow; a root that is a literal without
    /// a dtype to hold it; an input of kernels, which has no values.
    pub(crate) fn new(roots: &[&'e Array<'a>], options: &Options) -> Result<Walk<'e, 'a>> {
        let mut walk = Walker::walk(roots, None, options)?.walk;
        write_functions(&mut walk.key, &walk.functions);
        Ok(walk)
    }

    /// What decides the graph, but for the values of literals: ops, dtypes, shapes, strides and offsets, which
    /// operands are the same memory or the same literal, each literal's [`Scalar::class`], and each host function's id.
    pub(crate) fn key(&self) -> &[u64] {
        &self.key
    }

    /// The memory behind each input slot: only its storage counts here, layouts are in the key.
    pub(crate) fn slots(&self) -> &[&'e Leaf<'a>] {
        &self.slots
    }

    /// The host functions, as the key numbers them.
    pub(crate) fn functions(&self) -> &[HostFunction] {
        &self.functions
    }

    /// The value of each literal slot.
    pub(crate) fn literals(&self) -> &[Scalar] {
        &self.literals
    }
}

fn head(form: u64, what: u64, count: u64, id: u32) -> u64 {
    form | what << 8 | count << 16 | u64::from(id) << 32
}

type Functions = SmallVec<[HostFunction; 1]>;

/// Ends a key: with these functions it is another than with others.
fn write_functions(key: &mut SmallVec<[u64; 64]>, functions: &[HostFunction]) {
    key.extend(functions.iter().map(HostFunction::id));
}

fn exceeds(what: &str, value: usize, limit: usize, option: &str) -> Result<()> {
    if value <= limit {
        return Ok(());
    }
    let why = format!("the expression has a {what} of {value}, the limit is {limit}");
    Err(Error::new(ErrorKind::Limit, why).with_help(format!("the option {option} sets the limit")))
}

struct Walker<'e, 'a> {
    walk: Walk<'e, 'a>,
    /// A kernel's inputs: their order numbers the slots.
    declared: Option<Declared<'e, 'a>>,
    /// Whether there is a view of what is not in memory.
    has_views: bool,
    nodes: u32,
    max_nodes: usize,
    /// Nodes that more than one place refers to.
    ids: Memo<usize>,
    slot_of: Memo<(usize, usize, DType)>,
    literal_of: Memo<Scalar>,
    function_of: Memo<u64>,
    /// What is to be walked, and whether its operands have been.
    pending: SmallVec<[(&'e Array<'a>, bool); 16]>,
    /// The numbers of operands that wait for the node that takes them.
    done: SmallVec<[u32; 16]>,
}

impl<'e, 'a> Walker<'e, 'a> {
    /// Walks the roots' expressions; those of a kernel, if its inputs are given.
    fn walk(
        roots: &[&'e Array<'a>],
        declared: Option<&'e [&'e Array<'a>]>,
        options: &Options,
    ) -> Result<Walker<'e, 'a>> {
        let mut walker = Walker {
            walk: Walk::default(),
            declared: declared.map(Declared::new).transpose()?,
            has_views: false,
            nodes: 0,
            max_nodes: options.max_nodes.min(MAX_NODES),
            ids: Memo::new(),
            slot_of: Memo::new(),
            literal_of: Memo::new(),
            function_of: Memo::new(),
            pending: SmallVec::new(),
            done: SmallVec::new(),
        };
        for root in roots {
            walker.root(root, roots.len() > 1)?;
        }
        let (key, done) = (&mut walker.walk.key, &walker.done);
        key.push(head(ROOTS, 0, 0, done.len() as u32));
        key.extend(done.iter().map(|&id| u64::from(id)));
        // A way has no more steps than there are nodes, and no rank is above MAX_RANK: measured only where told.
        if walker.nodes as usize > options.max_depth || options.max_rank < MAX_RANK {
            let (depth, rank) = depth_and_rank(key)?;
            exceeds("depth", depth, options.max_depth, "max_depth")?;
            exceeds("rank", rank, options.max_rank, "max_rank")?;
        }
        Ok(walker)
    }

    fn root(&mut self, root: &'e Array<'a>, of_several: bool) -> Result<()> {
        self.pending.push((root, false));
        while let Some((array, operands_done)) = self.pending.pop() {
            // A node that only one place refers to is not met again, unless it is a root given twice.
            let shared = Arc::strong_count(&array.0) > 1 || of_several && self.pending.is_empty();
            let address = Arc::as_ptr(&array.0) as usize;
            if !operands_done {
                if shared && let Some(id) = self.ids.get(&address) {
                    self.done.push(id);
                    continue;
                }
                match &array.0.kind {
                    Kind::Data(_) | Kind::Input(_) | Kind::Literal(_) | Kind::Const(_) => {}
                    Kind::Apply { args, .. } | Kind::Host { args, .. } => {
                        self.pending.push((array, true));
                        self.pending.extend(args.iter().rev().flatten().map(|arg| (arg, false)));
                        continue;
                    }
                    Kind::Cast { arg } | Kind::View { arg, .. } => {
                        self.pending.extend([(array, true), (arg, false)]);
                        continue;
                    }
                }
            }
            self.emit(array)?;
            if self.nodes as usize >= self.max_nodes {
                let why = format!("the expression has more nodes than the limit of {}", self.max_nodes);
                return Err(
                    Error::new(ErrorKind::Limit, why).with_help("the option max_nodes sets the limit")
                );
            }
            if shared {
                self.ids.insert(address, self.nodes);
            }
            self.done.push(self.nodes);
            self.nodes += 1;
        }
        Ok(())
    }

    /// Writes a node whose operands are the last of `done`, and takes them off.
    fn emit(&mut self, array: &'e Array<'a>) -> Result<()> {
        let dtype = array.0.dtype as u64;
        match &array.0.kind {
            Kind::Data(leaf) => self.data(leaf)?,
            Kind::Input(name) => self.input(array, name)?,
            Kind::Const(value) => self.constant(*value),
            Kind::Literal(x) => self.constant(x.to_dtype(x.default_dtype())?),
            Kind::Apply { op, .. } => {
                self.application(APPLY, *op as u64, op.operands());
            }
            Kind::Host { function, .. } => {
                let slot = self.function_of.get(&function.id()).unwrap_or_else(|| {
                    let slot = self.walk.functions.len() as u32;
                    self.function_of.insert(function.id(), slot);
                    self.walk.functions.push(function.clone());
                    slot
                });
                self.application(HOST, 0, function.signature().operands().len());
                self.walk.key.push(slot.into());
            }
            Kind::Cast { .. } => {
                let arg = self.done.pop().unwrap_or(0);
                self.walk.key.push(head(CAST, dtype, 0, arg));
            }
            Kind::View { view, .. } => {
                let arg = self.done.pop().unwrap_or(0);
                write_view(&mut self.walk.key, view, arg);
                self.has_views = true;
            }
        }
        Ok(())
    }

    /// Writes what is done with the last `n` of `done`, and takes them off.
    fn application(&mut self, form: u64, what: u64, n: usize) {
        let args = &self.done[self.done.len() - n..];
        let key = &mut self.walk.key;
        key.push(head(form, what, n as u64, args[0]));
        if n > 1 {
            key.push(u64::from(args[1]) | u64::from(args.get(2).copied().unwrap_or(0)) << 32);
        }
        self.done.truncate(self.done.len() - n);
    }

    fn data(&mut self, leaf: &'e Leaf<'a>) -> Result<()> {
        if let Some(declared) = &mut self.declared {
            return declared.data(leaf, &mut self.walk.key);
        }
        let memory = memory(leaf);
        let slot = self.slot_of.get(&memory).unwrap_or_else(|| {
            let slot = self.walk.slots.len() as u32;
            self.slot_of.insert(memory, slot);
            self.walk.slots.push(leaf);
            slot
        });
        write_data(&mut self.walk.key, memory.2, slot, &leaf.layout);
        Ok(())
    }

    fn input(&mut self, array: &Array<'a>, name: &str) -> Result<()> {
        match &mut self.declared {
            Some(declared) => declared.input(array, name, &mut self.walk.key),
            None => {
                let (dtype, dims) = (array.dtype(), array.all_dims());
                let why = format!("`{name}` ({dtype}{dims}) is an input of kernels: it has no values");
                Err(Error::new(ErrorKind::Memory, why).with_help("build a Kernel, and run it on values"))
            }
        }
    }

    fn constant(&mut self, value: Scalar) {
        let slot = self.literal_of.get(&value).unwrap_or_else(|| {
            let slot = self.walk.literals.len() as u32;
            self.literal_of.insert(value, slot);
            self.walk.literals.push(value);
            slot
        });
        self.walk.key.push(head(CONST, value.dtype as u64, value.class() as u64, slot));
    }
}

/// What tells memory apart. An address alone does not: an empty slice may have that of another.
fn memory(leaf: &Leaf<'_>) -> (usize, usize, DType) {
    (leaf.storage.address(), leaf.storage.len(), leaf.storage.dtype())
}

fn write_data(key: &mut SmallVec<[u64; 64]>, dtype: DType, slot: u32, layout: &Layout) {
    let Layout { shape, strides, offset } = layout;
    key.push(head(DATA, dtype as u64, shape.rank() as u64, slot));
    key.extend(shape.iter().map(|&extent| extent as u64));
    key.extend(strides.iter().map(|&stride| stride as u64));
    key.push(*offset as u64);
}

fn write_view(key: &mut SmallVec<[u64; 64]>, view: &View, arg: u32) {
    let mut write = |sort: u64, rank: usize| key.push(head(VIEW, sort, rank as u64, arg));
    match view {
        View::BroadcastTo(shape) => {
            write(BROADCAST_TO, shape.rank());
            key.extend(shape.iter().map(|&extent| extent as u64));
        }
        View::Reshape(shape) => {
            write(RESHAPE, shape.rank());
            key.extend(shape.iter().map(|&extent| extent as u64));
        }
        View::Permute(axes) => {
            write(PERMUTE, axes.len());
            key.extend(axes.iter().map(|&axis| u64::from(axis)));
        }
        View::Slice(slices) => {
            write(SLICE, slices.len());
            key.extend(slices.iter().flat_map(|s| [s.start as u64, s.step as u64, s.len as u64]));
        }
    }
}

/// The most operations, conversions and views on a way from a node of a key to an input; and the highest rank.
fn depth_and_rank(key: &[u64]) -> Result<(usize, usize)> {
    let mut words = Words(key);
    let (mut depths, mut highest): (Vec<u32>, usize) = (Vec::new(), 0);
    loop {
        let word = words.next()?;
        let (what, count, id) = (word >> 8 & 0xff, (word >> 16) as u16 as usize, (word >> 32) as u32);
        let mut args: SmallVec<[u32; 3]> = SmallVec::new();
        match word & 0xff {
            DATA => {
                words.take(2 * count + 1)?;
                highest = highest.max(count);
            }
            CONST => {}
            APPLY => args.extend(words.operands(id, count)?),
            HOST => {
                args.extend(words.operands(id, count)?);
                words.next()?;
            }
            CAST => args.push(id),
            VIEW => {
                words.take(if what == SLICE { 3 * count } else { count })?;
                highest = highest.max(count);
                args.push(id);
            }
            ROOTS => return Ok((depths.iter().copied().max().unwrap_or(0) as usize, highest)),
            _ => return Err(malformed()),
        }
        let below = |&arg: &u32| depths.get(arg as usize).copied().ok_or_else(malformed);
        let mut depth = 0;
        for arg in &args {
            depth = depth.max(below(arg)? + 1);
        }
        depths.push(depth);
    }
}

/// The graph of a key, its inputs and literals numbered as in the walk; and its roots.
///
/// Errors: those of [`Graph`]; `Internal` for words that are not a walk's key.
pub(crate) fn graph(
    key: &[u64],
    literals: &[Scalar],
    functions: &[HostFunction],
    int_division: IntDivision,
) -> Result<(Graph, Vec<NodeId>)> {
    // Every operand has the op's dtype already, so the mode does not matter.
    let mut graph = Graph::new(Promotion::Strict, int_division);
    let mut ids: Vec<NodeId> = Vec::new();
    let mut words = Words(key);
    loop {
        let word = words.next()?;
        let (what, count, id) =
            ((word >> 8) as u8 as usize, (word >> 16) as u16 as usize, (word >> 32) as u32);
        let node = |id: u32| ids.get(id as usize).copied().ok_or_else(malformed);
        ids.push(match word & 0xff {
            DATA => {
                let shape = words.shape(count)?;
                let strides = words.take(count)?.iter().map(|&stride| stride as isize).collect::<Strides>();
                let layout = Layout { shape, strides, offset: words.next()? as isize };
                graph.input(id, dtype(what)?, layout)?
            }
            CONST => {
                let value = literals.get(id as usize).copied().ok_or_else(malformed)?;
                graph.constant(value, Some(id))?
            }
            APPLY => {
                let op = Op::ALL.get(what).copied().ok_or_else(malformed)?;
                let args = words.operands(id, count)?;
                let args = args.map(|a| node(a).map(Arg::Node)).collect::<Result<SmallVec<[_; 3]>>>()?;
                graph.apply(op, &args)?
            }
            HOST => {
                let args = words.operands(id, count)?;
                let args = args.map(|a| node(a).map(Arg::Node)).collect::<Result<SmallVec<[_; 3]>>>()?;
                let function = functions.get(words.next()? as usize);
                graph.call(function.ok_or_else(malformed)?.declaration(), &args)?
            }
            CAST => graph.cast(node(id)?, dtype(what)?)?,
            VIEW => graph.view(node(id)?, words.view(what as u64, count)?)?,
            ROOTS => {
                let roots =
                    words.take(id as usize)?.iter().map(|&root| node(root as u32)).collect::<Result<_>>()?;
                if !words.0.iter().copied().eq(functions.iter().map(HostFunction::id)) {
                    return Err(malformed());
                }
                return Ok((graph, roots));
            }
            _ => return Err(malformed()),
        });
    }
}

struct Words<'k>(&'k [u64]);

impl<'k> Words<'k> {
    fn take(&mut self, n: usize) -> Result<&'k [u64]> {
        let (first, rest) = self.0.split_at_checked(n).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(first)
    }

    fn next(&mut self) -> Result<u64> {
        self.take(1).map(|words| words[0])
    }

    /// The operands of an application, of which the first is known.
    fn operands(&mut self, first: u32, count: usize) -> Result<impl Iterator<Item = u32> + use<>> {
        let rest = if count > 1 { self.next()? } else { 0 };
        Ok([first, rest as u32, (rest >> 32) as u32].into_iter().take(count))
    }

    fn shape(&mut self, rank: usize) -> Result<Shape> {
        let extents: SmallVec<[usize; 4]> = self.take(rank)?.iter().map(|&extent| extent as usize).collect();
        Shape::new(&extents)
    }

    fn view(&mut self, sort: u64, rank: usize) -> Result<View> {
        Ok(match sort {
            BROADCAST_TO => View::BroadcastTo(self.shape(rank)?),
            RESHAPE => View::Reshape(self.shape(rank)?),
            PERMUTE => View::Permute(self.take(rank)?.iter().map(|&axis| axis as u8).collect()),
            SLICE => View::Slice(
                self.take(3 * rank)?
                    .chunks_exact(3)
                    .map(|s| Slice { start: s[0] as usize, step: s[1] as isize, len: s[2] as usize })
                    .collect(),
            ),
            _ => return Err(malformed()),
        })
    }
}

fn dtype(index: usize) -> Result<DType> {
    DType::ALL.get(index).copied().ok_or_else(malformed)
}

fn malformed() -> Error {
    Error::new(ErrorKind::Internal, "not the key of a walk")
}

/// The numbers given to keys: a list that is searched while it is short, and a table beyond.
struct Memo<K> {
    short: SmallVec<[(K, u32); 16]>,
    long: FxHashMap<K, u32>,
}

impl<K: Hash + Eq + Copy> Memo<K> {
    fn new() -> Memo<K> {
        Memo { short: SmallVec::new(), long: FxHashMap::default() }
    }

    fn get(&self, key: &K) -> Option<u32> {
        match self.short.iter().find(|(k, _)| k == key) {
            Some((_, id)) => Some(*id),
            None if self.long.is_empty() => None,
            None => self.long.get(key).copied(),
        }
    }

    fn insert(&mut self, key: K, id: u32) {
        if self.short.len() < self.short.inline_size() {
            self.short.push((key, id));
        } else {
            self.long.insert(key, id);
        }
    }
}

#[cfg(test)]
mod tests;
