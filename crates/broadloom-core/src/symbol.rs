//! Symbolic dimensions: extents that are known when a kernel runs, not when it is built.
//!
//! A [`Dim`] is a number, a symbol, an extent computed from a symbol, or any number of leading axes. [`Dims`]
//! broadcast, and become a [`Shape`] once their symbols have extents. Dims that are accepted broadcast in the same way
//! whatever the symbols are bound to, so a symbol matches only itself and a literal 1, even if it is bound to 1.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use broadloom_ir::printable;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::shape::Shape;

pub use crate::derived::{Derived, Symbol};

/// An extent of a kernel's input.
///
/// ```
/// use broadloom_core::Dim;
/// assert_eq!(Dim::from("3"), Dim::Fixed(3));
/// assert!(matches!(Dim::from("n"), Dim::Symbol(n) if n.name() == "n"));
/// assert_eq!(Dim::from("..."), Dim::Rest);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A fixed extent.
    Fixed(usize),
    /// A symbolic extent: any number, but the same one wherever the symbol occurs in the kernel.
    Symbol(Symbol),
    /// An extent that is computed from a symbol's, for example the extent of a slice.
    Derived(Arc<Derived>),
    /// Any number of axes, the same ones wherever this occurs. Only the first dim may be `Rest`.
    Rest,
}

impl From<usize> for Dim {
    fn from(extent: usize) -> Dim {
        Dim::Fixed(extent)
    }
}

impl From<&str> for Dim {
    /// Parses a number or `...`; any other text is a symbol.
    fn from(text: &str) -> Dim {
        match text {
            "..." => Dim::Rest,
            _ => text.parse().map_or_else(|_| Dim::Symbol(Symbol(text.into())), Dim::Fixed),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Fixed(extent) => write!(f, "{extent}"),
            Dim::Symbol(symbol) => write!(f, "{symbol}"),
            Dim::Derived(derived) => write!(f, "{derived}"),
            Dim::Rest => f.write_str("..."),
        }
    }
}

impl Dim {
    /// The symbol that the extent is, or is computed from; `None` for a number and for [`Dim::Rest`].
    pub fn symbol(&self) -> Option<&Symbol> {
        match self {
            Dim::Symbol(symbol) => Some(symbol),
            Dim::Derived(derived) => Some(derived.symbol()),
            Dim::Fixed(_) | Dim::Rest => None,
        }
    }

    /// `max(self - count, 0)`; `None` for [`Dim::Rest`].
    pub fn less(&self, count: usize) -> Option<Dim> {
        self.computed(|n| n.saturating_sub(count), |n| n.less(count))
    }

    /// `self + count`; `None` for [`Dim::Rest`].
    pub fn more(&self, count: usize) -> Option<Dim> {
        self.computed(|n| n.saturating_add(count), |n| n.more(count))
    }

    /// `ceil(self / step)`; `None` for [`Dim::Rest`], and for a step of 0.
    pub fn every(&self, step: usize) -> Option<Dim> {
        if step == 0 { None } else { self.computed(|n| n.div_ceil(step), |n| n.every(step)) }
    }

    /// `min(self, most)`; `None` for [`Dim::Rest`].
    pub fn at_most(&self, most: usize) -> Option<Dim> {
        self.computed(|n| n.min(most), |n| n.at_most(most))
    }

    fn computed(
        &self,
        of_number: impl Fn(usize) -> usize,
        of_derived: impl Fn(Derived) -> Derived,
    ) -> Option<Dim> {
        let derived = match self {
            Dim::Fixed(extent) => return Some(Dim::Fixed(of_number(*extent))),
            Dim::Symbol(symbol) => Derived::of(symbol),
            Dim::Derived(derived) => (**derived).clone(),
            Dim::Rest => return None,
        };
        let derived = of_derived(derived);
        Some(match derived.constant() {
            Some(extent) => Dim::Fixed(extent),
            None if derived.is_symbol() => Dim::Symbol(derived.symbol),
            None => Dim::Derived(Arc::new(derived)),
        })
    }

    /// The extent as a [`Derived`] one; `None` for a number and for [`Dim::Rest`].
    fn derived(&self) -> Option<Derived> {
        match self {
            Dim::Symbol(symbol) => Some(Derived::of(symbol)),
            Dim::Derived(derived) => Some((**derived).clone()),
            Dim::Fixed(_) | Dim::Rest => None,
        }
    }

    /// Whether this is a derived extent that is always 0 or 1. An axis with it broadcasts to any other extent, or has
    /// no elements.
    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, Dim::Derived(derived) if derived.is_unit())
    }

    /// Whether the two extents are the same, or may be equal once symbols are bound. Two different symbols do not count
    /// as possibly equal, and neither do a symbol and a number.
    pub fn may_equal(&self, other: &Dim) -> bool {
        self == other
            || match (self, other) {
                (Dim::Derived(derived), Dim::Fixed(extent)) | (Dim::Fixed(extent), Dim::Derived(derived)) => {
                    derived.at_most == Some(*extent)
                }
                (Dim::Derived(_), _) | (_, Dim::Derived(_)) => {
                    self.derived().zip(other.derived()).is_some_and(|(a, b)| a.may_equal(&b))
                }
                _ => false,
            }
    }
}

/// The extents of an array whose shape depends on a kernel's inputs, outermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dims(Box<[Dim]>);

impl Deref for Dims {
    type Target = [Dim];

    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// Two dims that don't match, and their axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The axis, counted from the end; −1 is the last.
    pub axis: isize,
    /// The dim of the earlier operands.
    pub left: Dim,
    /// The dim of the operand that does not match.
    pub right: Dim,
}

/// Two extents that are broadcast together and may be equal. Whether they are is checked once their symbols are bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The axis, counted from the end: −1 is the last.
    pub axis: isize,
    /// The extent of the earlier operands.
    pub left: Dim,
    /// The extent of this operand.
    pub right: Dim,
}

impl Dims {
    /// Checks the dims.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for `...` after another dim, or for a symbol that is not a name (letters, digits and `_`,
    /// not starting with a digit); [`ErrorKind::Limit`] for a rank above [`MAX_RANK`](crate::shape::MAX_RANK), or for
    /// fixed extents that are too large for a [`Shape`].
    pub fn new(dims: &[Dim]) -> Result<Dims> {
        for (i, dim) in dims.iter().enumerate() {
            match dim {
                Dim::Rest if i > 0 => {
                    return Err(Error::new(ErrorKind::Shape, "`...` may only be the first of the dims"));
                }
                dim if dim.symbol().is_some_and(|symbol| !is_name(symbol.name())) => {
                    let symbol = dim.symbol().map_or("", Symbol::name);
                    let why = format!("`{}` is no name of an extent", printable(symbol));
                    return Err(Error::new(ErrorKind::Shape, why)
                        .with_help("a name has letters, digits and `_`, and does not begin with a digit"));
                }
                _ => {}
            }
        }
        let dims = Dims(dims.into());
        dims.least_shape()?;
        Ok(dims)
    }

    /// The dims of a shape.
    pub fn of(shape: &Shape) -> Dims {
        Dims(shape.iter().map(|&extent| Dim::Fixed(extent)).collect())
    }

    /// Whether no dimension is dynamic.
    pub fn is_fixed(&self) -> bool {
        self.iter().all(|dim| matches!(dim, Dim::Fixed(_)))
    }

    /// Whether the rank is dynamic.
    pub fn has_rest(&self) -> bool {
        self.first() == Some(&Dim::Rest)
    }

    /// The shape in which every symbolic extent is 1, and `...` has no axes.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the fixed extents are too large for a [`Shape`].
    pub fn least_shape(&self) -> Result<Shape> {
        let extents: SmallVec<[usize; 4]> = self
            .iter()
            .filter(|dim| **dim != Dim::Rest)
            .map(|dim| if let Dim::Fixed(extent) = dim { *extent } else { 1 })
            .collect();
        Shape::new(&extents)
    }

    /// The dims with their axes permuted: axis `i` of the result is axis `axes[i]` here. `None` if an axis is out of
    /// range.
    pub fn permuted(&self, axes: &[u8]) -> Option<Dims> {
        axes.iter().map(|&axis| self.get(axis as usize).cloned()).collect::<Option<_>>().map(Dims)
    }

    /// The dims to which all of these broadcast. Axes are aligned at the end; equal dims match, and 1 matches any dim.
    /// Pairs of dims whose match depends on the binding are passed to `meet`.
    ///
    /// If one list has `...`, the leading axes of a longer list match it only if they are `...` as well.
    ///
    /// # Errors
    /// The first axis, counted from the end, whose dims don't match.
    pub fn broadcast(all: &[&Dims], meet: &mut dyn FnMut(Meeting)) -> std::result::Result<Dims, Mismatch> {
        let mut out: SmallVec<[Dim; 4]> = SmallVec::new();
        let mut rest: Option<usize> = None;
        for dims in all {
            let (has_rest, named) = match dims.split_first() {
                Some((Dim::Rest, named)) => (true, named),
                _ => (false, &dims[..]),
            };
            for (i, dim) in named.iter().rev().enumerate() {
                match out.get_mut(i) {
                    None => out.push(dim.clone()),
                    Some(met) if *met == *dim || *dim == Dim::Fixed(1) => {}
                    Some(met) if *met == Dim::Fixed(1) => *met = dim.clone(),
                    Some(met) => {
                        let (axis, left, right) = (-1 - i as isize, met.clone(), dim.clone());
                        // If one side is always 0 or 1, the result has the extent of the other side: if the first is 0,
                        // the check of the meeting requires the second to be 0 as well.
                        let is_repeated = left.is_unit() || right.is_unit();
                        if !is_repeated && !left.may_equal(&right) {
                            return Err(Mismatch { axis, left, right });
                        }
                        if left.is_unit() {
                            *met = dim.clone();
                        }
                        meet(Meeting { axis, left, right });
                    }
                }
            }
            if has_rest {
                // A `...` at another distance from the end means other axes, so it does not match.
                match rest {
                    Some(at) if at != named.len() => {
                        let axis = -1 - at.min(named.len()) as isize;
                        let dim = out[at.min(named.len())].clone();
                        return Err(Mismatch { axis, left: dim, right: Dim::Rest });
                    }
                    _ => rest = Some(named.len()),
                }
            }
        }
        match rest {
            Some(at) if out.len() > at => {
                let (axis, right) = (-1 - at as isize, out[at].clone());
                Err(Mismatch { axis, left: Dim::Rest, right })
            }
            Some(_) => Ok(Dims(std::iter::once(Dim::Rest).chain(out.into_iter().rev()).collect())),
            None => Ok(Dims(out.into_iter().rev().collect())),
        }
    }
}

/// Whether `text` can be the name of a symbol or of an input.
pub fn is_name(text: &str) -> bool {
    text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses dims from a text such as `n 3`.
    fn dims(text: &str) -> Dims {
        Dims::new(&text.split_whitespace().map(Dim::from).collect::<Vec<_>>()).expect(text)
    }

    #[test]
    fn a_symbol_matches_itself_and_one() {
        for (a, b, out) in [
            ("n", "n", Some("n")),
            ("n", "1", Some("n")),
            ("n", "", Some("n")),
            ("n", "m", None),
            ("n", "3", None),
            ("n 3", "3", Some("n 3")),
            ("n 3", "n 1", Some("n 3")),
            ("n 1", "1 m", Some("n m")),
            ("n", "n m", None),
            ("2 1 5", "7 1", Some("2 7 5")),
            ("... n", "n", Some("... n")),
            ("... n", "... n", Some("... n")),
            ("...", "", Some("...")),
            ("...", "1", None),
            ("...", "n", None),
            ("... n", "m n", None),
            ("... n", "...", None),
            ("... n", "... 1", Some("... n")),
        ] {
            let (x, y, out) = (dims(a), dims(b), out.map(dims));
            assert_eq!(Dims::broadcast(&[&x, &y], &mut |_| {}).ok(), out, "{a} with {b}");
            assert_eq!(Dims::broadcast(&[&y, &x], &mut |_| {}).ok(), out, "{b} with {a}");
        }
    }

    /// Derived extents broadcast if they are equal. If they may be equal, that is reported, to be checked once symbols
    /// are bound.
    #[test]
    fn derived_extents_meet() -> Result<()> {
        let (n, m) = (dims("n"), dims("m"));
        let of = |dim: Option<Dim>| dim.map(|dim| Dims::new(&[dim])).expect("no `...`");
        let (before, every) = (of(n[0].less(1))?, of(n[0].every(2))?);
        let later = of(n[0].less(1).and_then(|dim| dim.every(2)))?;
        for (a, b, out, meets) in [
            (&before, &before, Some("[n - 1]"), 0),
            (&before, &dims("1"), Some("[n - 1]"), 0),
            (&before, &n, None, 0),
            (&before, &dims("3"), None, 0),
            (&before, &m, Some("[n - 1]"), 1),
            (&every, &later, Some("[ceil(n / 2)]"), 1),
            (&of(n[0].at_most(3))?, &dims("3"), Some("[min(n, 3)]"), 1),
            (&of(n[0].at_most(3))?, &dims("4"), None, 0),
            (&of(n[0].at_most(1))?, &m, Some("[m]"), 1),
            (&n, &of(n[0].at_most(1))?, Some("[n]"), 1),
            (&before, &dims("..."), None, 0),
        ] {
            let mut met = 0;
            let got = Dims::broadcast(&[a, b], &mut |_| met += 1).ok().map(|dims| dims.to_string());
            assert_eq!((got.as_deref(), met), (out, meets), "{a} with {b}");
        }
        Ok(())
    }

    #[test]
    fn a_mismatch_names_the_axis_from_the_end() {
        let e = Dims::broadcast(&[&dims("n 4"), &dims("m 1")], &mut |_| {}).expect_err("n and m");
        assert_eq!(e, Mismatch { axis: -2, left: Dim::from("n"), right: Dim::from("m") });
    }

    #[test]
    fn dims_are_checked() {
        for (list, words) in [
            (&["n", "..."][..], "`...` may only be the first of the dims"),
            (&["2n"], "`2n` is no name of an extent"),
            (&[""], "`` is no name of an extent"),
            (&["-1"], "`-1` is no name of an extent"),
        ] {
            let list: Vec<Dim> = list.iter().map(|&dim| dim.into()).collect();
            assert_eq!(Dims::new(&list).map_err(|e| e.message().to_owned()), Err(words.to_owned()));
        }
        let huge = [Dim::Fixed(usize::MAX), Dim::Fixed(2)];
        assert!(Dims::new(&huge).is_err_and(|e| e.is_limit()));
        assert!(Dims::new(&vec![Dim::Fixed(1); 65]).is_err_and(|e| e.is_limit()));
    }

    /// Applies the operation number `kind` to a number and to a dim.
    fn step(kind: usize, count: usize, n: usize, dim: &Dim) -> (usize, Dim) {
        let made = match kind {
            0 => (n.saturating_sub(count), dim.less(count)),
            1 => (n + count, dim.more(count)),
            2 => (n.div_ceil(count + 1), dim.every(count + 1)),
            _ => (n.min(count), dim.at_most(count)),
        };
        (made.0, made.1.expect("no leading axes"))
    }

    fn value(dim: &Dim, n: usize) -> usize {
        match dim {
            Dim::Fixed(extent) => *extent,
            Dim::Derived(derived) => derived.value(n),
            _ => n,
        }
    }

    /// Every chain of three operations with small counts has the same value on dims as on numbers.
    #[test]
    fn chains_have_the_values_of_numbers() {
        const COUNTS: usize = 4;
        for chain in 0..(4 * COUNTS).pow(3) {
            let steps = [chain % 16, chain / 16 % 16, chain / 256];
            for n in 0..12 {
                let (mut number, mut dim) = (n, Dim::from("n"));
                for one in steps {
                    (number, dim) = step(one / COUNTS, one % COUNTS, number, &dim);
                }
                assert_eq!(value(&dim, n), number, "{dim} of {n}");
            }
        }
    }

    #[test]
    fn equal_extents_have_one_form() {
        let n = Dim::from("n");
        let of = |steps: &[(usize, usize)]| {
            steps.iter().fold(n.clone(), |dim, &(kind, count)| step(kind, count, 0, &dim).1)
        };
        for (steps, text) in [
            (&[(0, 1)][..], "n - 1"),
            (&[(0, 1), (0, 2)], "n - 3"),
            (&[(1, 1), (0, 1)], "n"),
            (&[(0, 1), (1, 1)], "n - 1 + 1"),
            (&[(1, 3), (0, 1)], "n + 2"),
            (&[(2, 1)], "ceil(n / 2)"),
            (&[(2, 1), (0, 1)], "ceil((n - 2) / 2)"),
            (&[(0, 2), (2, 1)], "ceil((n - 2) / 2)"),
            (&[(2, 1), (2, 2)], "ceil(n / 6)"),
            (&[(3, 5), (0, 1)], "min(n - 1, 4)"),
            (&[(0, 1), (3, 4)], "min(n - 1, 4)"),
            (&[(3, 5), (3, 3)], "min(n, 3)"),
            (&[(3, 0)], "0"),
            (&[(1, 3), (3, 2)], "2"),
            (&[(3, 5), (0, 5)], "0"),
        ] {
            assert_eq!(of(steps).to_string(), text, "{steps:?}");
        }
    }

    /// Extents that may not be equal differ for every large extent of their symbol; the others are equal for some large
    /// extent.
    #[test]
    fn extents_that_may_be_equal_are_so_for_large_ones() {
        let n = Dim::from("n");
        let mut all = Vec::new();
        for chain in 0..64 {
            let mut dim = n.clone();
            for one in [chain % 8, chain / 8] {
                dim = step(one / 2, one % 2 + 1, 0, &dim).1;
            }
            all.extend(if let Dim::Derived(derived) = dim { Some(derived) } else { None });
        }
        for a in &all {
            for b in &all {
                let equal = (1000..1100).any(|n| a.value(n) == b.value(n));
                assert_eq!(a.may_equal(b), equal, "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_symbol_is_found_where_only_one_extent_gives_as_many() {
        let n = Dim::from("n");
        for (dim, extent, found) in [
            (n.less(1), 4, Some(5)),
            (n.less(1), 0, None),
            (n.more(1), 4, Some(3)),
            (n.more(1), 0, None),
            (n.every(2), 4, None),
            (n.at_most(9), 4, None),
        ] {
            let Some(Dim::Derived(derived)) = dim else { panic!("derived") };
            assert_eq!(derived.symbol_for(extent), found, "{derived} = {extent}");
        }
    }
}
