//! Functions that texts can call in addition to the built-in ones.
//!
//! Functions can be added to a library but not removed, and they keep their numbers, so that a module with an earlier
//! version of the library stays valid.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::built_in::built_in;
use super::lex::is_name;
use super::number::brief;
use super::source::{Function, Source};
use crate::ErrorKind;

/// Functions that texts can call: user-defined functions, which are parsed once, and host functions.
///
/// Cloning is cheap. A module keeps the version of the library with which it was parsed.
///
/// ```
/// use broadloom_core::text::{Library, Module, ParseOptions};
///
/// let options = ParseOptions::default();
/// let mut library = Library::default();
/// library.define("def half(x) = x / 2; def quarter(x) = half(half(x))", &options)?;
/// assert!(Module::parse("quarter(y)", &library, &options).is_ok());
/// # Ok::<(), broadloom_core::text::TextError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Library(Arc<Functions>);

#[derive(Clone, Debug, Default)]
struct Functions {
    sources: Vec<Arc<Source>>,
    names: BTreeMap<Box<str>, Function>,
}

impl Library {
    /// Adds a host function. Its number `id` is passed to [`Meaning::host`](super::Meaning::host) when a text calls it.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] if the name is not a valid function name, or is in use already.
    pub fn declare(&mut self, name: &str, id: u32, arity: u32) -> crate::Result<()> {
        let refuse = |why: &str| {
            Err(crate::Error::new(ErrorKind::Name, format!("the host function `{}`: {why}", brief(name))))
        };
        if !is_name(name) {
            return refuse("not a name that a text can contain");
        }
        if self.has(name) {
            return refuse("the name has a meaning already");
        }
        Arc::make_mut(&mut self.0).names.insert(name.into(), Function::Host { id, arity });
        Ok(())
    }

    /// The names of the functions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names.keys().map(|name| &**name)
    }

    /// Adds the functions that a text defines.
    pub(super) fn add(&mut self, source: Source) {
        let functions = Arc::make_mut(&mut self.0);
        for (def, number) in source.defs.iter().zip(0..) {
            let function = Function::Library { source: functions.sources.len() as u32, def: number };
            functions.names.insert(source.ast.at(&def.name).into(), function);
        }
        functions.sources.push(Arc::new(source));
    }

    /// Whether a function of this name is in the library or built into the language.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.names.contains_key(name) || built_in(name).is_some()
    }

    pub(super) fn function(&self, name: &str) -> Option<Function> {
        self.0.names.get(name).copied()
    }

    pub(super) fn source(&self, number: u32) -> &Source {
        &self.0.sources[number as usize]
    }

    /// Whether a function of the library contains a derivative.
    pub(super) fn differentiates(&self) -> bool {
        self.0.sources.iter().any(|source| source.differentiates())
    }

    /// Whether a function of the library may compute an element from elements at other indices than its own.
    pub(super) fn moves_elements(&self) -> bool {
        self.0.sources.iter().any(|source| source.moves_elements())
    }
}
