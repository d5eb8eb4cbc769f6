//! Chains of views, from a node up to the loop that reads it.
//!
//! A reader may see a node through views of views. Each distinct chain of views has a number, by which the layout of a leaf is
//! found. Chains share their tails, so that each takes constant space.

use rustc_hash::FxHashMap;

use crate::layout::{Layout, View};

/// The number of a chain in its [`Chains`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainId(u32);

/// The empty chain.
pub const STRAIGHT: ChainId = ChainId(0);

/// All chains of views: each is a view of the node, followed by the chain of its reader.
#[derive(Default)]
pub struct Chains {
    links: Vec<(View, ChainId, u32)>,
    known: FxHashMap<(View, ChainId), ChainId>,
}

impl Chains {
    /// The chain of a node that is seen through a view by a reader with the chain `rest`.
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

    /// The layout after every view of the chain.
    pub fn apply(&self, mut layout: Layout, mut chain: ChainId) -> Option<Layout> {
        while chain != STRAIGHT {
            let (view, rest, _) = &self.links[chain.0 as usize - 1];
            layout = layout.view(view)?;
            chain = *rest;
        }
        Some(layout)
    }
}
