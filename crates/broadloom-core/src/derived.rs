//! Symbols, and extents that are computed from them: the extents of slices, and of scans with an initial element.
//!
//! All of these extents have the form `min(ceil((max(n - a, 0) + b) / s), k)`: a slice of such an extent, or an
//! additional element, has an extent of the same form. Equal forms are equal extents for every n.

use std::fmt;
use std::sync::Arc;

/// The name of an extent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub(crate) Arc<str>);

impl Symbol {
    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An extent that is computed from a symbol's: `min(ceil((max(n - minus, 0) + plus) / divisor), at_most)`.
///
/// It is displayed as the text language writes it: `n - 1`, `n + 1`, `ceil(n / 2)`, `min(n, 5)`; a difference below 0
/// is 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Derived {
    pub(crate) symbol: Symbol,
    pub(crate) minus: usize,
    pub(crate) plus: usize,
    /// At least 1.
    pub(crate) divisor: usize,
    pub(crate) at_most: Option<usize>,
}

impl Derived {
    /// The extent of a symbol itself.
    pub(crate) fn of(symbol: &Symbol) -> Derived {
        Derived { symbol: symbol.clone(), minus: 0, plus: 0, divisor: 1, at_most: None }
    }

    /// The symbol from which the extent is computed.
    pub fn symbol(&self) -> &Symbol {
        &self.symbol
    }

    /// The value of the derived extent when the symbol has the extent `of_symbol`.
    pub fn value(&self, of_symbol: usize) -> usize {
        let sum = of_symbol.saturating_sub(self.minus).saturating_add(self.plus);
        let extent = sum.div_ceil(self.divisor);
        self.at_most.map_or(extent, |most| extent.min(most))
    }

    /// The only extent of the symbol for which the derived extent is `extent`; `None` if there is none, or more than
    /// one.
    pub(crate) fn symbol_for(&self, extent: usize) -> Option<usize> {
        let is_only = self.divisor == 1 && self.at_most.is_none() && (self.minus == 0 || extent > self.plus);
        self.any_symbol_for(extent).filter(|_| is_only)
    }

    /// One of the symbol's extents for which the derived extent is `extent`; `None` if there is none.
    pub(crate) fn any_symbol_for(&self, extent: usize) -> Option<usize> {
        let sum = extent.checked_mul(self.divisor)?;
        let of_symbol = sum.checked_sub(self.plus)?.checked_add(self.minus)?;
        Some(of_symbol).filter(|&of_symbol| self.value(of_symbol) == extent)
    }

    /// `max(self - count, 0)`
    pub(crate) fn less(mut self, count: usize) -> Derived {
        // ceil(x / s) - c is ceil((x - c·s) / s).
        let numbers = count.saturating_mul(self.divisor);
        self.minus = self.minus.saturating_add(numbers.saturating_sub(self.plus));
        self.plus = self.plus.saturating_sub(numbers);
        self.at_most = self.at_most.map(|most| most.saturating_sub(count));
        self
    }

    /// `self + count`
    pub(crate) fn more(mut self, count: usize) -> Derived {
        self.plus = self.plus.saturating_add(count.saturating_mul(self.divisor));
        self.at_most = self.at_most.map(|most| most.saturating_add(count));
        self
    }

    /// `ceil(self / step)`, for a step of at least 1.
    pub(crate) fn every(mut self, step: usize) -> Derived {
        self.divisor = self.divisor.saturating_mul(step);
        self.at_most = self.at_most.map(|most| most.div_ceil(step));
        self
    }

    /// `min(self, most)`
    pub(crate) fn at_most(mut self, most: usize) -> Derived {
        self.at_most = Some(self.at_most.map_or(most, |known| known.min(most)));
        self
    }

    /// The value of the extent, if it is the same for every extent of the symbol.
    pub(crate) fn constant(&self) -> Option<usize> {
        let least = self.plus.div_ceil(self.divisor);
        self.at_most.filter(|most| *most <= least)
    }

    /// Whether the extent is that of the symbol itself.
    pub(crate) fn is_symbol(&self) -> bool {
        *self == Derived::of(&self.symbol)
    }

    /// Whether the extent is 0 or 1 for every extent of the symbol. An axis with it broadcasts to any other extent, or
    /// has no elements.
    pub(crate) fn is_unit(&self) -> bool {
        self.at_most == Some(1)
    }

    /// Whether this derived extent may be equal to another one. If both are derived from the same symbol,
    /// they must be equal for arbitrarily large extents of it, or have the same upper bound. If the symbols
    /// differ, the extents may always be equal.
    pub(crate) fn may_equal(&self, other: &Derived) -> bool {
        if self.symbol != other.symbol {
            return true;
        }
        match (self.at_most, other.at_most) {
            (None, None) => {
                let offset = |of: &Derived| of.plus as i128 - of.minus as i128;
                self.divisor == other.divisor
                    && (offset(self) - offset(other)).unsigned_abs() < self.divisor as u128
            }
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Derived { symbol, minus, plus, divisor, at_most } = self;
        if at_most.is_some() {
            f.write_str("min(")?;
        }
        let is_sum = *minus > 0 || *plus > 0;
        if *divisor > 1 {
            f.write_str(if is_sum { "ceil((" } else { "ceil(" })?;
        }
        write!(f, "{symbol}")?;
        if *minus > 0 {
            write!(f, " - {minus}")?;
        }
        if *plus > 0 {
            write!(f, " + {plus}")?;
        }
        if *divisor > 1 {
            write!(f, "{} / {divisor})", if is_sum { ")" } else { "" })?;
        }
        at_most.map_or(Ok(()), |most| write!(f, ", {most})"))
    }
}
