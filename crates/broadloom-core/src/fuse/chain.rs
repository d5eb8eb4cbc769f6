//! Chains of views through which a loop reads a node.
//!
//! A loop may read a node through a view of a view of it, and so on. Each distinct chain has an id; the layout of a
//! leaf is computed by applying the chain's views. Chains share their tails, so that each takes constant space.

use rustc_hash::FxHashMap;

use crate::layout::{Layout, View};

/// The id of a chain in its [`Chains`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainId(u32);

/// The empty chain: the node is read without views.
pub const STRAIGHT: ChainId = ChainId(0);

/// All chains of a body. A chain consists of the view of the node, followed by the chain through which that view is
/// read.
#[derive(Default)]
pub struct Chains {
    links: Vec<(View, ChainId, u32)>,
    known: FxHashMap<(View, ChainId), ChainId>,
}

impl Chains {
    /// The chain that consists of `view`, followed by the views of `rest`.
    pub fn push(&mut self, view: View, rest: ChainId) -> ChainId {
        if let Some(&id) = self.known.get(&(view.clone(), rest)) {
            return id;
        }
        let length = self.len(rest) + 1;
        self.links.push((view.clone(), rest, length));
        let id = ChainId(self.links.len() as u32);
        self.known.insert((view, rest), id);
        id
    }

    /// The number of views in the chain.
    pub fn len(&self, chain: ChainId) -> u32 {
        if chain == STRAIGHT { 0 } else { self.links[chain.0 as usize - 1].2 }
    }

    /// The layout after all views of the chain are applied; `None` if strides can't express it.
    pub fn apply(&self, mut layout: Layout, mut chain: ChainId) -> Option<Layout> {
        while chain != STRAIGHT {
            let (view, rest, _) = &self.links[chain.0 as usize - 1];
            layout = layout.view(view)?;
            chain = *rest;
        }
        Some(layout)
    }
}
