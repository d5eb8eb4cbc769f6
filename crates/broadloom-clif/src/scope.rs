//! The values that have been emitted so far of a body, and the lanes that they count for.

use std::rc::Rc;

use broadloom_math::record::Var;
use cranelift_codegen::ir::InstBuilder;
use smallvec::SmallVec;

use crate::body::Body;
use crate::value::Lanes;
use crate::vectors::Vectors;

/// The emitted values of a body.
pub struct BodyScope {
    pub body: Rc<Body>,
    /// The lanes of each value of the body; `None` until the value has been emitted.
    pub values: Vec<Option<Lanes>>,
    /// The constants that have been emitted at the current loop level.
    pub constants: Vec<Var>,
    /// For each loop of the body, the carried values after it.
    pub ended: Vec<SmallVec<[Lanes; 4]>>,
}

impl BodyScope {
    pub fn new(body: Rc<Body>) -> BodyScope {
        let (values, ended) = (vec![None; body.len()], vec![SmallVec::new(); body.loops().len()]);
        BodyScope { body, values, constants: Vec::new(), ended }
    }
}

/// The lanes that perform the current iteration, as masks of each lane width that was needed so far.
#[derive(Clone, Copy)]
pub struct Active {
    mask: Lanes,
    resized: [Option<Lanes>; 4],
}

impl Active {
    pub fn new(mask: Lanes) -> Active {
        Active { mask, resized: [None; 4] }
    }

    /// The mask with lanes of this many bytes.
    pub fn of_width(&mut self, v: &mut Vectors<'_>, width: u32) -> Lanes {
        let place = width.trailing_zeros() as usize;
        let mask = self.mask;
        *self.resized[place].get_or_insert_with(|| v.resize_mask(mask, width))
    }

    /// A mask without the lanes that don't perform the iteration.
    pub fn of(&mut self, v: &mut Vectors<'_>, mask: Lanes) -> Lanes {
        let width = u32::from(mask.width);
        let ty = v.layout.integer_vector(width);
        let (own, mask) = (self.of_width(v, width), v.cast_lanes(ty, mask));
        let own = v.cast_lanes(ty, own);
        mask.zip(&own, |x, y| v.ins().band(x, y)).with_width(width)
    }
}
