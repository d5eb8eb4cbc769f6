//! The bytes that a strided layout reaches, straight from the definition.
//!
//! Sums saturate far beyond any memory size, so that any item size, offset, shape and strides are accepted.

/// The bytes that a layout reaches.
pub struct Reach {
    /// First byte and end; none without elements.
    ends: Option<(i128, i128)>,
    offset: i128,
}

impl Reach {
    /// Of elements of `item` bytes, index 0 at byte `offset`, strides in bytes.
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

    /// Whether every element lies in memory of so many bytes.
    pub fn is_inside(&self, len: usize) -> bool {
        self.ends.is_none_or(|(low, end)| low >= 0 && end <= len as i128)
    }

    /// The indices and the byte offsets of the elements, if they lie in memory: all of them, or the first thousand.
    pub fn elements(&self, shape: &[usize], strides: &[isize]) -> Vec<(Vec<usize>, usize)> {
        let mut all = Vec::new();
        let mut index = vec![0; shape.len()];
        while self.ends.is_some() && all.len() < 1000 {
            let steps =
                index.iter().zip(strides).map(|(&i, &stride): (&usize, _)| i as i128 * stride as i128);
            let at = self.offset + steps.sum::<i128>();
            all.push((index.clone(), usize::try_from(at).expect("inside")));
            // The next index; none after the last.
            let Some(axis) = (0..shape.len()).rev().find(|&axis| index[axis] + 1 < shape[axis]) else {
                break;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
        all
    }
}
