//! The keys of a kernel's expressions: one for every layout of its inputs.
//!
//! In: roots, and the inputs that they are of. Out: a [`Template`], and with layouts filled in, a key as of a
//! [`Walk`](super::Walk), slot `i` being input `i`. Must hold: it holds no array alive; a key depends on the template and
//! the layouts alone.

use std::collections::HashMap;

use broadloom_core::shape::MAX_RANK;
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Scalar};
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{DATA, Walker, exceeds, head, malformed, memory, write_data};
use crate::array::Array;
use crate::engine::Options;
use crate::expr::{Kind, Leaf};

/// A key with gaps where layouts belong.
pub(crate) struct Template {
    words: Box<[u64]>,
    /// Where the inputs stand, in the order of the words.
    sites: Box<[Site]>,
    literals: Box<[Scalar]>,
    functions: Box<[HostFunction]>,
    /// Of each input, whether its layout is the kernel's to choose: no view of it is in the words.
    free: Box<[bool]>,
    is_elementwise: bool,
}

/// An input's place in the words, where its dtype stands but no extents: a head and an offset.
struct Site {
    at: usize,
    input: u32,
}

impl Template {
    /// Walks the roots' expressions.
    ///
    /// Errors: those of [`Walk::new`](super::Walk::new); `Memory` for an array that is not among the inputs, or an input
    /// that is given twice, or is neither a placeholder nor evaluated; `Name` for two inputs of one name.
    pub(crate) fn new(roots: &[&Array<'_>], inputs: &[&Array<'_>], options: &Options) -> Result<Template> {
        let Walker { walk, declared, has_views, .. } = Walker::walk(roots, Some(inputs), options)?;
        let declared = declared.ok_or_else(malformed)?;
        let is_elementwise = !has_views && declared.free.iter().all(|free| *free);
        Ok(Template {
            words: walk.key[..].into(),
            sites: declared.sites.into(),
            literals: walk.literals[..].into(),
            functions: walk.functions[..].into(),
            free: declared.free.into(),
            is_elementwise,
        })
    }

    /// The key of the expressions over inputs of these layouts. Those of inputs that are not [`Template::is_free`]
    /// do not count.
    ///
    /// Errors: a rank above the options' limit.
    pub(crate) fn key(&self, layouts: &[Layout], options: &Options) -> Result<SmallVec<[u64; 64]>> {
        let mut key = SmallVec::new();
        let mut from = 0;
        for site in &self.sites {
            let layout = layouts.get(site.input as usize).ok_or_else(malformed)?;
            exceeds("rank", layout.shape.rank(), options.max_rank.min(MAX_RANK), "max_rank")?;
            key.extend_from_slice(&self.words[from..site.at]);
            let dtype = super::dtype((self.words[site.at] >> 8) as u8 as usize)?;
            write_data(&mut key, dtype, site.input, layout);
            from = site.at + 2;
        }
        key.extend_from_slice(&self.words[from..]);
        super::write_functions(&mut key, &self.functions);
        Ok(key)
    }

    /// The host functions, as the words number them.
    pub(crate) fn functions(&self) -> &[HostFunction] {
        &self.functions
    }

    /// The words, with nothing where layouts belong, and nothing of this process.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where layouts belong: the place among the words, and of which input.
    pub(crate) fn sites(&self) -> impl ExactSizeIterator<Item = (usize, u32)> {
        self.sites.iter().map(|site| (site.at, site.input))
    }

    pub(crate) fn literals(&self) -> &[Scalar] {
        &self.literals
    }

    /// Whether an input may have any layout.
    pub(crate) fn is_free(&self, input: usize) -> bool {
        self.free[input]
    }

    /// Whether element `i` of a result depends on elements `i` of the inputs only: there are no views.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.is_elementwise
    }
}

/// A kernel's inputs, while its expressions are walked.
pub(super) struct Declared<'e, 'a> {
    inputs: &'e [&'e Array<'a>],
    /// The inputs by name, and by memory.
    names: HashMap<&'e str, usize>,
    places: FxHashMap<(usize, usize, DType), usize>,
    sites: Vec<Site>,
    free: Vec<bool>,
}

impl<'e, 'a> Declared<'e, 'a> {
    pub fn new(inputs: &'e [&'e Array<'a>]) -> Result<Declared<'e, 'a>> {
        let fail = |kind, why: String| Err(Error::new(kind, format!("kernel: {why}")));
        let (mut names, mut places) = (HashMap::new(), FxHashMap::default());
        for (i, array) in inputs.iter().enumerate() {
            match &array.0.kind {
                Kind::Input(name) => {
                    if names.insert(&**name, i).is_some() {
                        return fail(ErrorKind::Name, format!("two inputs have the name `{name}`"));
                    }
                }
                Kind::Data(leaf) if array.is_evaluated() && leaf.storage.len() == array.len() => {
                    if let Some(first) = places.insert(memory(leaf), i)
                        && !array.is_empty()
                    {
                        return fail(
                            ErrorKind::Memory,
                            format!("inputs {first} and {i} are the same memory"),
                        );
                    }
                }
                _ => {
                    let why = format!("input {i} is not evaluated, or is a part of another array");
                    return fail(ErrorKind::Memory, why);
                }
            }
        }
        Ok(Declared { inputs, names, places, sites: Vec::new(), free: vec![true; inputs.len()] })
    }

    pub fn data(&mut self, leaf: &Leaf<'a>, key: &mut SmallVec<[u64; 64]>) -> Result<()> {
        let found = self.places.get(&memory(leaf)).copied();
        let found = found.and_then(|input| Some((input, self.inputs[input].leaf()?)));
        let Some((input, whole)) = found else {
            let (dtype, shape) = (leaf.storage.dtype(), &leaf.layout.shape);
            let why =
                format!("kernel: the expressions use an array ({dtype}{shape}) that is not among the inputs");
            return Err(Error::new(ErrorKind::Memory, why));
        };
        if whole.layout == leaf.layout {
            self.site(input, leaf.storage.dtype(), key);
        } else {
            self.free[input] = false;
            write_data(key, leaf.storage.dtype(), input as u32, &leaf.layout);
        }
        Ok(())
    }

    pub fn input(&mut self, array: &Array<'a>, name: &str, key: &mut SmallVec<[u64; 64]>) -> Result<()> {
        let Some(&input) = self.names.get(name) else {
            let (dtype, dims) = (array.dtype(), array.all_dims());
            let why = format!(
                "kernel: the expressions use `{name}` ({dtype}{dims}), which is not among the inputs"
            );
            return Err(Error::new(ErrorKind::Name, why));
        };
        let declared = self.inputs[input];
        if (declared.dtype(), declared.all_dims()) != (array.dtype(), array.all_dims()) {
            let types = [declared, array].map(|x| format!("{}{}", x.dtype(), x.all_dims()));
            let why = format!(
                "kernel: the input `{name}` is {}, but the expressions use it as {}",
                types[0], types[1]
            );
            return Err(Error::new(ErrorKind::DType, why));
        }
        self.site(input, array.dtype(), key);
        Ok(())
    }

    fn site(&mut self, input: usize, dtype: DType, key: &mut SmallVec<[u64; 64]>) {
        self.sites.push(Site { at: key.len(), input: input as u32 });
        key.extend([head(DATA, dtype as u64, 0, input as u32), 0]);
    }
}
