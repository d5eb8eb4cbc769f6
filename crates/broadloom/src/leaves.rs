//! Queries about the nodes of expressions: the shared memory that they read, the kernel inputs on which they depend, and the
//! computed nodes that they have in common.

use std::any::Any;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::array::{Array, Kind, Leaf};
use crate::lower::visit_leaves;

impl<'a> Array<'a> {
    /// Visits the owners of the shared memory that the expression reads, so that an application can check, before an evaluation,
    /// that the memory is still valid. An owner is visited once for each array over its memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use broadloom::prelude::*;
    /// use broadloom::Region;
    ///
    /// static BYTES: [u8; 4] = [1, 2, 3, 4];
    /// let x = Array::lent(DType::UInt8, Region::from(&BYTES[..]), 0, &[4], &[1], Arc::new("the first"))?;
    /// let mut names = Vec::new();
    /// (&x * &x + 1).visit_owners(&mut |owner| names.extend(owner.downcast_ref::<&str>().copied()));
    /// assert_eq!(names, ["the first"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn visit_owners(&self, visit: &mut dyn FnMut(&Arc<dyn Any + Send + Sync>)) {
        visit_leaves(&[self], &mut |leaf| {
            if let Leaf::Data(data) = leaf
                && let Some(owner) = data.storage.owner()
            {
                visit(owner);
            }
        });
    }

    /// The names of the kernel inputs that expressions depend on, each once.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::input("x", DType::Float32, &["n".into()])?;
    /// let rate = Array::input("rate", DType::Float32, &[])?;
    /// assert_eq!(Array::input_names(&[&(&x * &rate + &x)]), ["x", "rate"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn input_names<'e>(arrays: &[&'e Array<'a>]) -> Vec<&'e str> {
        let (mut names, mut seen) = (Vec::new(), FxHashSet::default());
        visit_leaves(arrays, &mut |leaf| {
            if let Leaf::Input(name) = leaf
                && seen.insert(&**name)
            {
                names.push(&**name);
            }
        });
        names
    }

    /// Whether the array can be evaluated: it depends neither on inputs of kernels nor, in the functions of a loop, on values that
    /// the loop carries.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (x, y) = (Array::from([1.0, 2.0]), Array::input("y", DType::Float64, &[])?);
    /// assert!((&x * 2.0).has_values() && !(x * y).has_values());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn has_values(&self) -> bool {
        let mut has_values = true;
        visit_leaves(&[self], &mut |leaf| has_values &= !matches!(leaf, Leaf::Input(_) | Leaf::Carried));
        has_values
    }

    /// Whether each of the other arrays shares a computed node (a function, a conversion or a reduction) with this one, so that
    /// evaluating the arrays separately computes the node twice. Views and arrays in memory do not count, since they are not
    /// computed.
    ///
    /// Takes at most time proportional to the number of nodes of all expressions.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::while_loop_counts;
    ///
    /// let x = Array::from([1.0, 2.0]);
    /// let y = x.exp();
    /// assert_eq!((&y + 1.0).shares_work(&[&(&y * 2.0), &(&x * 2.0)]), [true, false]);
    ///
    /// // The values of a loop are computed together.
    /// let ([z], n) = while_loop_counts(|[z]| z.less(10.0), |[z]| [z * 2.0], [x], None)?;
    /// assert_eq!(z.shares_work(&[&n]), [true]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shares_work(&self, others: &[&Array<'a>]) -> Vec<bool> {
        let mut own = FxHashSet::default();
        self.find_node(&mut own, |_| false);
        // Nodes from which no computed node of this expression can be reached.
        let mut apart = FxHashSet::default();
        let mut shares = |other: &Array<'a>| {
            let mut visited = apart.clone();
            let found = other.find_node(&mut visited, |array| {
                array.0.kind.is_computed() && own.contains(&computation(array))
            });
            if !found {
                apart = visited;
            }
            found
        };
        others.iter().map(|other| shares(other)).collect()
    }

    /// Visits the nodes that are not in `visited` until one has the property `is_wanted`. Returns whether there is one.
    fn find_node(
        &self,
        visited: &mut FxHashSet<usize>,
        mut is_wanted: impl FnMut(&Array<'a>) -> bool,
    ) -> bool {
        let mut pending = vec![self];
        while let Some(array) = pending.pop() {
            if !visited.insert(computation(array)) {
                continue;
            }
            if is_wanted(array) {
                return true;
            }
            pending.extend(array.0.kind.operands());
        }
        false
    }
}

/// The address of what is computed for an array: its node or, since the values of a loop are computed together, their region.
fn computation(array: &Array<'_>) -> usize {
    match &array.0.kind {
        Kind::Loop(of) => Arc::as_ptr(&of.region).addr(),
        Kind::Recurrence(of) => Arc::as_ptr(&of.step).addr(),
        _ => Arc::as_ptr(&array.0).addr(),
    }
}

#[cfg(test)]
mod tests {
    use broadloom_core::{DType, Result};
    use broadloom_mem::Region;

    use super::*;

    #[test]
    fn each_lent_leaf_is_visited_once() -> Result<()> {
        let bytes = [1_u8, 2, 3];
        let lent = |name: &'static str| {
            Array::lent(DType::UInt8, Region::from(&bytes[..]), 0, &[3], &[1], Arc::new(name))
        };
        let (x, y) = (lent("x")?, lent("y")?);
        let mut sum = &x + &y.slice(..)?;
        // If nodes were visited once for each path to them, there would be 2^100 visits.
        for _ in 0..100 {
            sum = &sum + &sum;
        }
        let mut names = Vec::new();
        sum.visit_owners(&mut |owner| names.extend(owner.downcast_ref::<&str>().copied()));
        names.sort_unstable();
        assert_eq!(names, ["x", "y"]);
        Array::from_vec(vec![1_u8]).visit_owners(&mut |_| panic!("nobody lends this memory"));
        Ok(())
    }
}
