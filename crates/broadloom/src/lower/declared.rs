//! The inputs that a symbolic kernel declares. The walk of the kernel's expressions looks up each array in memory and each named
//! input here; it is an error if one of them is not declared.

use std::collections::HashMap;

use broadloom_core::structure::{KeyLayout, KeyLeaf};
use broadloom_core::{DType, Error, ErrorKind, Result};
use rustc_hash::FxHashMap;

use crate::array::{Array, Data, Leaf};

/// The identity of a piece of memory. The address alone does not identify it, since an empty slice may have the address of
/// another slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    address: usize,
    len: usize,
    pub dtype: DType,
}

impl Place {
    pub(crate) fn of(data: &Data<'_>) -> Place {
        Place { address: data.storage.address(), len: data.storage.len(), dtype: data.storage.dtype() }
    }
}

/// A kernel's declared inputs, to be looked up while its expressions are walked.
pub(super) struct Declared<'e, 'a> {
    inputs: &'e [&'e Array<'a>],
    /// The indices of inputs by name, and by the identity of their memory.
    names: HashMap<&'e str, usize>,
    places: FxHashMap<Place, usize>,
    pub free: Vec<bool>,
}

impl<'e, 'a> Declared<'e, 'a> {
    pub(crate) fn new(inputs: &'e [&'e Array<'a>]) -> Result<Declared<'e, 'a>> {
        let fail = |kind, why: String| Err(Error::new(kind, format!("kernel: {why}")));
        let (mut names, mut places) = (HashMap::new(), FxHashMap::default());
        for (i, array) in inputs.iter().enumerate() {
            match array.leaf() {
                Some(Leaf::Input(name)) => {
                    if names.insert(&**name, i).is_some() {
                        return fail(ErrorKind::Name, format!("two inputs have the name `{name}`"));
                    }
                }
                Some(Leaf::Data(data)) if array.is_evaluated() && data.storage.len() == array.len() => {
                    if let Some(first) = places.insert(Place::of(data), i)
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
        Ok(Declared { inputs, names, places, free: vec![true; inputs.len()] })
    }

    /// Looks up an array in memory, which must be an input or a view of an input.
    pub(crate) fn memory(&mut self, data: &'e Data<'a>) -> Result<KeyLeaf<'e>> {
        let found = self.places.get(&Place::of(data)).copied();
        let found = found.and_then(|input| Some((input, self.inputs[input].in_memory()?)));
        let dtype = data.storage.dtype();
        let Some((input, whole)) = found else {
            let shape = &data.layout.shape;
            let why =
                format!("kernel: the expressions use an array ({dtype}{shape}) that is not among the inputs");
            return Err(Error::new(ErrorKind::Memory, why));
        };
        let slot = input as u32;
        if whole.layout == data.layout {
            return Ok(KeyLeaf::Dynamic { slot, dtype });
        }
        self.free[input] = false;
        Ok(KeyLeaf::Memory { slot, dtype, layout: KeyLayout::Borrowed(&data.layout) })
    }

    /// Looks up an input by name.
    pub(crate) fn input(&self, array: &Array<'a>, name: &str) -> Result<KeyLeaf<'e>> {
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
        Ok(KeyLeaf::Dynamic { slot: input as u32, dtype: array.dtype() })
    }
}
