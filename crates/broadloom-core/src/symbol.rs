//! Symbolic dimensions: extents that are known when a kernel runs, not when it is built.
//!
//! A [`Dim`] is a number, a symbol, or any number of leading axes. [`Dims`] broadcast, and become a [`Shape`] once
//! their symbols have extents. Dims that are accepted broadcast in the same way for every binding, so a symbol matches
//! only itself and a literal 1, even if it is bound to 1.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use broadloom_ir::printable;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::shape::{MAX_RANK, Shape};

/// The name of a symbolic extent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Arc<str>);

impl Symbol {
    /// The name of the symbol.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
    /// Any number of axes, the same ones wherever this occurs. It may only be the first of the dims.
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
            Dim::Rest => f.write_str("..."),
        }
    }
}

/// The extents of an array that depends on a kernel's inputs, outermost first.
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

impl Dims {
    /// Checks the dims.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for `...` after another dim, or for a symbol that is not a name (letters, digits and `_`,
    /// not starting with a digit); [`ErrorKind::Limit`] for a rank above [`MAX_RANK`], or fixed extents beyond those
    /// that a [`Shape`] can have.
    pub fn new(dims: &[Dim]) -> Result<Dims> {
        for (i, dim) in dims.iter().enumerate() {
            match dim {
                Dim::Rest if i > 0 => {
                    return Err(Error::new(ErrorKind::Shape, "`...` may only be the first of the dims"));
                }
                Dim::Symbol(symbol) if !is_name(symbol.name()) => {
                    let why = format!("`{}` is no name of an extent", printable(symbol.name()));
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

    /// The shape in which every symbol is 1, and `...` has no axes.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the fixed extents are beyond those that a [`Shape`] can have.
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

    /// The dims to which all of these broadcast. Axes are aligned at the end; equal dims match, and 1 matches any.
    ///
    /// If one list has `...`, the leading axes of a longer list match it only if they are `...` as well.
    ///
    /// # Errors
    /// The first axis, counted from the end, whose dims don't match.
    pub fn broadcast(all: &[&Dims]) -> std::result::Result<Dims, Mismatch> {
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
                        let (left, right) = (met.clone(), dim.clone());
                        return Err(Mismatch { axis: -1 - i as isize, left, right });
                    }
                }
            }
            if has_rest {
                // `...` at different distances from the end means different axes, and does not match.
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

/// Whether a text can be the name of an extent or of an input.
pub fn is_name(text: &str) -> bool {
    text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
}

/// The extents of symbols in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Symbols with their extents, in the order in which they were first bound.
    symbols: SmallVec<[(Symbol, usize); 4]>,
    rest: Option<SmallVec<[usize; 4]>>,
}

impl Binding {
    /// The extent of a symbol, if it is bound.
    pub fn get(&self, symbol: &Symbol) -> Option<usize> {
        self.symbols.iter().find(|(s, _)| s == symbol).map(|(_, extent)| *extent)
    }

    /// Binds a symbol to an extent. If it is bound to another one already, returns that as the error.
    pub fn set(&mut self, symbol: &Symbol, extent: usize) -> std::result::Result<(), usize> {
        match self.get(symbol) {
            None => self.symbols.push((symbol.clone(), extent)),
            Some(bound) if bound != extent => return Err(bound),
            Some(_) => {}
        }
        Ok(())
    }

    /// Matches dims with the extents of an array: unbound symbols are bound, and bound ones must agree.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], with the axis and both extents.
    pub fn meet(&mut self, dims: &Dims, extents: &[usize]) -> Result<()> {
        let fail = |why: String| Err(Error::new(ErrorKind::Shape, why));
        let named = if dims.has_rest() { &dims[1..] } else { &dims[..] };
        let given = || crate::shape::Extents(extents);
        if extents.len() < named.len() || extents.len() > named.len() && !dims.has_rest() {
            return fail(format!("has the shape {}, but {dims} has rank {}", given(), named.len()));
        }
        let (leading, trailing) = extents.split_at(extents.len() - named.len());
        if dims.has_rest() {
            match &self.rest {
                None => self.rest = Some(leading.into()),
                Some(rest) if rest[..] != *leading => {
                    let bound = crate::shape::Extents(rest);
                    return fail(format!("has the shape {}, but `...` is {bound} already", given()));
                }
                Some(_) => {}
            }
        }
        for (axis, (dim, &extent)) in named.iter().zip(trailing).enumerate() {
            let axis = axis + leading.len();
            match dim {
                Dim::Fixed(wanted) if *wanted != extent => {
                    return fail(format!("has the shape {}, but axis {axis} is {wanted}", given()));
                }
                Dim::Symbol(symbol) => {
                    if let Err(bound) = self.set(symbol, extent) {
                        return fail(format!(
                            "has the shape {}, but {symbol} (axis {axis}) is {bound} already",
                            given()
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Matches dims with the number of elements of an array, which determines the extent if a single symbol is unbound.
    /// Returns whether every symbol is bound now.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if no extent of that symbol gives this number of elements.
    pub fn meet_elements(&mut self, dims: &Dims, elements: usize) -> Result<bool> {
        let mut open: Option<(&Symbol, u32)> = None;
        let mut known = 1usize;
        for dim in dims.iter() {
            let extent = match dim {
                Dim::Fixed(extent) => *extent,
                Dim::Rest => match &self.rest {
                    Some(rest) => rest.iter().product(),
                    None => return Ok(false),
                },
                Dim::Symbol(symbol) => match (self.get(symbol), open) {
                    (Some(extent), _) => extent,
                    (None, None) => {
                        open = Some((symbol, 1));
                        1
                    }
                    (None, Some((other, times))) if other == symbol => {
                        open = Some((symbol, times + 1));
                        1
                    }
                    (None, Some(_)) => return Ok(false),
                },
            };
            known = known.saturating_mul(extent);
        }
        let fail = |shown: &dyn fmt::Display| {
            Err(Error::new(ErrorKind::Shape, format!("has {elements} elements, which do not fill {shown}")))
        };
        let Some((symbol, times)) = open else {
            return if known == elements { Ok(true) } else { fail(dims) };
        };
        // If another extent is 0, any extent of the symbol gives 0 elements.
        if known == 0 {
            return if elements == 0 { Ok(false) } else { fail(dims) };
        }
        match (elements.is_multiple_of(known), times) {
            (true, 1) => {
                let _ = self.set(symbol, elements / known);
                Ok(true)
            }
            (true, _) => {
                let root = (elements / known).isqrt();
                if times == 2 && root * root == elements / known {
                    let _ = self.set(symbol, root);
                    return Ok(true);
                }
                if times == 2 { fail(dims) } else { Ok(false) }
            }
            (false, _) => fail(dims),
        }
    }

    /// The shape of dims whose symbols are all bound.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the first symbol that is unbound; [`ErrorKind::Limit`] for the reasons of
    /// [`Shape::new`].
    pub fn shape(&self, dims: &Dims) -> Result<Shape> {
        let mut extents: SmallVec<[usize; 8]> = SmallVec::new();
        let open = |what: &dyn fmt::Display| {
            Error::new(ErrorKind::Shape, format!("the extent of {what} is not known"))
                .with_help("give an input with its shape, or the extent itself")
        };
        for dim in dims.iter() {
            match dim {
                Dim::Fixed(extent) => extents.push(*extent),
                Dim::Symbol(symbol) => extents.push(self.get(symbol).ok_or_else(|| open(symbol))?),
                Dim::Rest => extents.extend_from_slice(self.rest.as_ref().ok_or_else(|| open(&"`...`"))?),
            }
        }
        if extents.len() > MAX_RANK {
            let why = format!("rank {} is above the limit of {MAX_RANK}", extents.len());
            return Err(Error::new(ErrorKind::Limit, why));
        }
        Shape::new(&extents)
    }
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
            assert_eq!(Dims::broadcast(&[&x, &y]).ok(), out, "{a} with {b}");
            assert_eq!(Dims::broadcast(&[&y, &x]).ok(), out, "{b} with {a}");
        }
    }

    #[test]
    fn a_mismatch_names_the_axis_from_the_end() {
        let e = Dims::broadcast(&[&dims("n 4"), &dims("m 1")]).expect_err("n and m");
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

    #[test]
    fn shapes_bind_symbols_and_must_agree() -> Result<()> {
        let mut binding = Binding::default();
        binding.meet(&dims("... n 3"), &[7, 2, 5, 3])?;
        assert_eq!(binding.shape(&dims("... n 1"))?[..], [7, 2, 5, 1]);
        for (of, extents, words) in [
            ("n", &[4][..], "has the shape [4], but n (axis 0) is 5 already"),
            ("n 3", &[5, 2], "has the shape [5,2], but axis 1 is 3"),
            ("n 3", &[5], "has the shape [5], but [n,3] has rank 2"),
            ("... n", &[7, 5], "has the shape [7,5], but `...` is [7,2] already"),
        ] {
            let e = binding.clone().meet(&dims(of), extents).expect_err(of);
            assert_eq!(e.message(), words);
        }
        assert!(binding.shape(&dims("m")).is_err_and(|e| e.message() == "the extent of m is not known"));
        Ok(())
    }

    #[test]
    fn a_number_of_elements_settles_one_symbol() -> Result<()> {
        for (of, elements, settled) in [
            ("n", 12, Ok(Some(12))),
            ("n 3", 12, Ok(Some(4))),
            ("n 3", 13, Err(())),
            ("n n", 9, Ok(Some(3))),
            ("n n", 8, Err(())),
            ("n m", 12, Ok(None)),
            ("n 0", 0, Ok(None)),
            ("n 0", 1, Err(())),
            ("... n", 4, Ok(None)),
        ] {
            let mut binding = Binding::default();
            let Dim::Symbol(n) = Dim::from("n") else { unreachable!() };
            let got = binding.meet_elements(&dims(of), elements);
            let got = got.map(|done| binding.get(&n).filter(|_| done)).map_err(drop);
            assert_eq!(got, settled, "{of} of {elements}");
        }
        Ok(())
    }
}
