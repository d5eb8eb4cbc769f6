//! The extents of symbols in one run, which follow from the inputs, and the checks that need these extents.

use std::fmt;

use smallvec::SmallVec;

use crate::derived::Symbol;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{MAX_RANK, Shape};
use crate::symbol::{Dim, Dims, Meeting};

/// The extents of symbols in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Symbols with their extents, in the order in which they were bound.
    symbols: SmallVec<[(Symbol, usize); 4]>,
    rest: Option<SmallVec<[usize; 4]>>,
}

impl Binding {
    /// The extent of a symbol; `None` if it is not bound yet.
    pub fn get(&self, symbol: &Symbol) -> Option<usize> {
        self.symbols.iter().find(|(s, _)| s == symbol).map(|(_, extent)| *extent)
    }

    /// Binds a symbol to an extent. If it is bound to a different extent already, that extent is returned as the error.
    pub fn set(&mut self, symbol: &Symbol, extent: usize) -> std::result::Result<(), usize> {
        match self.get(symbol) {
            None => self.symbols.push((symbol.clone(), extent)),
            Some(bound) if bound != extent => return Err(bound),
            Some(_) => {}
        }
        Ok(())
    }

    /// The extent of a dim.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a symbol without an extent, which is named, and for [`Dim::Rest`].
    pub fn extent(&self, dim: &Dim) -> Result<usize> {
        let of = |symbol: &Symbol| self.get(symbol).ok_or_else(|| unknown(symbol));
        match dim {
            Dim::Fixed(extent) => Ok(*extent),
            Dim::Symbol(symbol) => of(symbol),
            Dim::Derived(derived) => of(derived.symbol()).map(|extent| derived.value(extent)),
            Dim::Rest => Err(unknown(&"`...`")),
        }
    }

    /// Checks that two extents that were broadcast are equal, or that one of them is a slice of at most one element and
    /// has one element.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for other extents, naming the function and both extents, and for a symbol without an
    /// extent.
    pub fn check(&self, function: &str, meeting: &Meeting) -> Result<()> {
        let Meeting { axis, left, right } = meeting;
        let (a, b) = (self.extent(left)?, self.extent(right)?);
        if a == b || a == 1 && left.is_unit() || b == 1 && right.is_unit() {
            return Ok(());
        }
        let shown = |dim: &Dim, extent| match dim {
            Dim::Fixed(_) => dim.to_string(),
            _ => format!("{dim} = {extent}"),
        };
        let (left, right) = (shown(left, a), shown(right, b));
        let why = format!("{function}: cannot broadcast {left} with {right} (axis {axis})");
        Err(Error::new(ErrorKind::Shape, why))
    }

    /// If one side is known and the other is not, binds the symbol of the unknown side so that both sides are equal.
    /// Returns whether a symbol was bound.
    pub fn follow(&mut self, meeting: &Meeting) -> bool {
        let sides = [(&meeting.left, &meeting.right), (&meeting.right, &meeting.left)];
        sides.into_iter().any(|(open, known)| {
            let Some(symbol) = open.symbol().filter(|symbol| self.get(symbol).is_none()) else {
                return false;
            };
            let of_symbol = self.extent(known).ok().and_then(|extent| match open {
                Dim::Derived(derived) => derived.any_symbol_for(extent),
                _ => Some(extent),
            });
            of_symbol.is_some_and(|extent| self.set(symbol, extent).is_ok())
        })
    }

    /// Binds the symbols of `dims` to the extents of an array; symbols that are bound already must agree with them.
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
                Dim::Derived(derived) => {
                    let symbol = derived.symbol();
                    let known = self.get(symbol).or_else(|| derived.symbol_for(extent));
                    let wanted = known.map(|of_symbol| derived.value(of_symbol));
                    if wanted != Some(extent) {
                        let (given, is) = (given(), wanted.map(|wanted| format!("is {wanted} already")));
                        let is = is.unwrap_or_else(|| format!("does not tell the extent of {symbol}"));
                        return fail(format!("has the shape {given}, but {dim} (axis {axis}) {is}"));
                    }
                    known.map(|of_symbol| self.set(symbol, of_symbol));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Binds the only symbol of `dims` that has no extent yet, if the number of elements of an array determines it.
    /// Returns whether every symbol of `dims` has an extent now.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if there is no extent of that symbol for which the array has this number of elements.
    pub fn meet_elements(&mut self, dims: &Dims, elements: usize) -> Result<bool> {
        let mut open: Option<(&Dim, u32)> = None;
        let mut known = 1usize;
        for dim in dims.iter() {
            let bound = dim.symbol().is_none_or(|symbol| self.get(symbol).is_some());
            let extent = match (dim, open) {
                (Dim::Rest, _) => match &self.rest {
                    Some(rest) => rest.iter().product(),
                    None => return Ok(false),
                },
                _ if bound => self.extent(dim)?,
                (_, None) => {
                    open = Some((dim, 1));
                    1
                }
                (Dim::Symbol(_), Some((other, times))) if other == dim => {
                    open = Some((dim, times + 1));
                    1
                }
                (_, Some(_)) => return Ok(false),
            };
            known = known.saturating_mul(extent);
        }
        let fail = |shown: &dyn fmt::Display| {
            Err(Error::new(ErrorKind::Shape, format!("has {elements} elements, which do not fill {shown}")))
        };
        let Some((dim, times)) = open else {
            return if known == elements { Ok(true) } else { fail(dims) };
        };
        // With another extent of 0, the symbol could have any extent.
        if known == 0 {
            return if elements == 0 { Ok(false) } else { fail(dims) };
        }
        let extent = elements / known;
        let of_symbol = match (elements.is_multiple_of(known), times, dim) {
            (false, ..) => return fail(dims),
            (true, 1, Dim::Derived(derived)) if extent < derived.value(0) => return fail(dims),
            (true, 1, Dim::Derived(derived)) => derived.symbol_for(extent),
            (true, 1, _) => Some(extent),
            (true, 2, _) if extent.isqrt().pow(2) != extent => return fail(dims),
            (true, 2, _) => Some(extent.isqrt()),
            _ => None,
        };
        if let Some((symbol, extent)) = dim.symbol().zip(of_symbol) {
            let _ = self.set(symbol, extent);
        }
        Ok(of_symbol.is_some())
    }

    /// The shape of dims whose symbols all have their extents.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the first symbol without an extent; [`ErrorKind::Limit`] as from [`Shape::new`].
    pub fn shape(&self, dims: &Dims) -> Result<Shape> {
        let mut extents: SmallVec<[usize; 8]> = SmallVec::new();
        for dim in dims.iter() {
            match (dim, &self.rest) {
                (Dim::Rest, Some(rest)) => extents.extend_from_slice(rest),
                _ => extents.push(self.extent(dim)?),
            }
        }
        if extents.len() > MAX_RANK {
            let why = format!("rank {} is above the limit of {MAX_RANK}", extents.len());
            return Err(Error::new(ErrorKind::Limit, why));
        }
        Shape::new(&extents)
    }
}

fn unknown(what: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::Shape, format!("the extent of {what} is not known"))
        .with_help("give an input with its shape, or the extent itself")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses dims such as `n 3`; `n+1` and `n-1` are extents derived from n.
    fn dims(text: &str) -> Dims {
        let dim = |text: &str| match (text.strip_suffix("+1"), text.strip_suffix("-1")) {
            (Some(symbol), _) => Dim::from(symbol).more(1).expect("a symbol"),
            (_, Some(symbol)) => Dim::from(symbol).less(1).expect("a symbol"),
            _ => Dim::from(text),
        };
        Dims::new(&text.split_whitespace().map(dim).collect::<Vec<_>>()).expect(text)
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
            ("n+1", &[5], "has the shape [5], but n + 1 (axis 0) is 6 already"),
        ] {
            let e = binding.clone().meet(&dims(of), extents).expect_err(of);
            assert_eq!(e.message(), words);
        }
        assert!(binding.shape(&dims("m")).is_err_and(|e| e.message() == "the extent of m is not known"));
        Ok(())
    }

    #[test]
    fn a_symbol_follows_from_the_other_side() {
        for (left, right, follows) in [
            ("m", "n+1", Some(11)),
            ("n-1", "m", Some(9)),
            ("m-1", "n+1", Some(12)),
            ("m+1", "n", Some(9)),
            ("m+1", "0", None),
            ("m", "k", None),
            ("n+1", "n", None),
            ("m-1", "4", Some(5)),
        ] {
            let mut binding = Binding::default();
            let symbol = |name| match Dim::from(name) {
                Dim::Symbol(symbol) => symbol,
                _ => unreachable!("a name"),
            };
            assert_eq!(binding.set(&symbol("n"), 10), Ok(()));
            let side = |text| dims(text)[0].clone();
            let meeting = Meeting { axis: -1, left: side(left), right: side(right) };
            assert_eq!(binding.follow(&meeting), follows.is_some(), "{left} {right}");
            assert_eq!(binding.get(&symbol("m")), follows, "{left} {right}");
            assert!(follows.is_none() || binding.check("add", &meeting).is_ok(), "{left} {right}");
        }
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
            ("n+1 3", 12, Ok(Some(3))),
            ("n+1 3", 0, Err(())),
            ("n-1", 4, Ok(Some(5))),
            ("n-1", 0, Ok(None)),
            ("n+1 n", 12, Ok(None)),
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
