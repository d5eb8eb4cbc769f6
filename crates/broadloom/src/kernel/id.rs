//! The identity of kernels across processes.
//!
//! An id is a hash of the kernel's content, in which expressions are written as the text of their
//! [`Structure`](broadloom_core::structure::Structure). Kernels with equal ids compute equal results from equal inputs, provided
//! that the name of a host function always refers to the same function. The id does not depend on the target, the process, or the
//! order in which expressions are built.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::engine::Options;
use crate::kernel::port::Port;
use crate::lower::Template;

/// A kernel's identity: a hash (SHA-256) of its expressions, literals, inputs, outputs and options.
///
/// The id is the same on every machine and in every process of one version of broadloom, and does not depend on the memory on
/// which a kernel runs: an application may store it, compare it, and use it as a cache key. Only the name and the dtypes of a
/// host function are hashed, so two functions with the same name and dtypes are not distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelId([u8; 32]);

impl KernelId {
    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn of(template: &Template, ports: [&[Port]; 2], options: &Options) -> KernelId {
        let mut hash = Sha256::new();
        hash.update(concat!("broadloom ", env!("CARGO_PKG_VERSION"), "\n"));
        let number = |hash: &mut Sha256, x: u64| hash.update(x.to_le_bytes());
        let text = |hash: &mut Sha256, x: &str| {
            hash.update((x.len() as u64).to_le_bytes());
            hash.update(x);
        };
        text(&mut hash, &template.structure().to_string());
        number(&mut hash, template.literals().len() as u64);
        for literal in template.literals() {
            number(&mut hash, literal.dtype as u64);
            number(&mut hash, literal.bits);
        }
        for ports in ports {
            number(&mut hash, ports.len() as u64);
            for Port { name, dtype, dims } in ports.iter() {
                text(&mut hash, name);
                text(&mut hash, &format!("{dtype}{dims}"));
            }
        }
        text(&mut hash, &format!("{:?}", options));
        KernelId(hash.finalize().into())
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelId({self})")
    }
}
