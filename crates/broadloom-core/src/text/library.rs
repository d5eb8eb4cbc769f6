//! Functions that texts can call besides those of the language.
//!
//! A library only grows, and functions keep their numbers, so that a module that holds an earlier version stays valid.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::built_in::built_in;
use super::lex::is_name;
use super::number::brief;
use super::source::{Function, Source};
use crate::ErrorKind;

/// Functions that texts can call: user-defined functions, which are parsed once, and host functions.
///
/// Cloning is cheap. A module keeps the library that it was parsed with.
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
    /// Adds a host function with a number that identifies it, which is passed to [`Meaning::host`](super::Meaning::host).
    ///
    /// # Errors [`ErrorKind::Name`] if the name can't be a function's, or has a meaning already.
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

    /// Whether a name is that of a function of this library or of the language.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.names.contains_key(name) || built_in(name).is_some()
    }

    pub(super) fn function(&self, name: &str) -> Option<Function> {
        self.0.names.get(name).copied()
    }

    pub(super) fn source(&self, number: u32) -> &Source {
        &self.0.sources[number as usize]
    }

    /// Whether some function of the library may compute an element from elements at other positions.
    pub(super) fn moves_elements(&self) -> bool {
        self.0.sources.iter().any(|source| source.moves_elements())
    }
}
