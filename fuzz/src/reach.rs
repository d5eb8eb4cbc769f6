//! Computes the byte range of a strided layout, directly from the definition.
//!
//! Sums saturate far above any memory size, so that any item size, offset, shape and strides are allowed.

/// The byte range of a strided layout.
pub struct Reach {
    /// The first byte and the end; `None` if there are no elements.
    ends: Option<(i128, i128)>,
    offset: i128,
}

impl Reach {
    /// The layout of elements of `item` bytes, with index 0 at byte `offset` and strides in bytes.
    pub fn of(item: usize, offset: usize, shape: &[usize], strides: &[isize]) -> Reach {
        let offset = offset as i128;
        if shape.contains(&0) {
            return Reach { ends: None, offset };
        }
        let spans = shape.iter().zip(strides).map(|(&n, &stride)| (n as i128 - 1) * stride as i128);
        let (mut low, mut end) = (offset, offset + item as i128);
        for span in spans {
            let corner = if span < 0 { &mut low } else { &mut end };
            *corner = corner.saturating_add(span);
        }
        Reach { ends: Some((low, end)), offset }
    }

    /// Whether every element lies within a memory of `len` bytes.
    pub fn is_inside(&self, len: usize) -> bool {
        self.ends.is_none_or(|(low, end)| low >= 0 && end <= len as i128)
    }

    /// The index and the byte offset of each element, or of the first thousand. The elements must lie in memory.
    pub fn elements(&self, shape: &[usize], strides: &[isize]) -> Vec<(Vec<usize>, usize)> {
        let mut all = Vec::new();
        let mut index = vec![0; shape.len()];
        while self.ends.is_some() && all.len() < 1000 {
            let steps =
                index.iter().zip(strides).map(|(&i, &stride): (&usize, _)| i as i128 * stride as i128);
            let at = self.offset + steps.sum::<i128>();
            all.push((index.clone(), usize::try_from(at).expect("inside")));
            // Advances to the next index, or stops after the last.
            let Some(axis) = (0..shape.len()).rev().find(|&axis| index[axis] + 1 < shape[axis]) else {
                break;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
        all
    }
}
