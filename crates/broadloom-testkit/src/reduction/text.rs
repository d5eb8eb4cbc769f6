//! Formats calls of reductions in the text language. Arguments with default values are omitted.

use broadloom_core::Literal;
use broadloom_core::text::print;

use super::call::{Cumulative, Reduction, VecDot};

fn axes(axes: &[isize]) -> String {
    match axes {
        [one] => one.to_string(),
        _ => format!("({})", axes.iter().map(isize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn number(x: f64) -> String {
    let is_integer = x == x.trunc() && x.abs() < 1e15;
    let literal = if is_integer { Literal::Int(x as i128) } else { Literal::Float(x) };
    print::operand(literal).to_string()
}

impl Reduction {
    /// The text of the call for an operand of this name.
    pub fn text(&self, x: &str) -> String {
        let mut args = vec![x.to_owned()];
        args.extend(self.axes.as_deref().map(|given| format!("axis={}", axes(given))));
        args.extend(self.dtype.map(|dtype| format!("dtype={dtype}")));
        if self.correction != 0.0 {
            args.push(format!("correction={}", number(self.correction)));
        }
        if self.ord != 2.0 {
            args.push(format!("ord={}", number(self.ord)));
        }
        if self.keepdims {
            args.push("keepdims=true".to_owned());
        }
        format!("{}({})", self.function.name(), args.join(", "))
    }
}

impl Cumulative {
    /// The text of the call for an operand of this name.
    pub fn text(&self, x: &str) -> String {
        let mut args = vec![x.to_owned()];
        args.extend(self.axis.map(|axis| format!("axis={axis}")));
        args.extend(self.dtype.map(|dtype| format!("dtype={dtype}")));
        args.extend(self.include_initial.then(|| "include_initial=true".to_owned()));
        format!("{}({})", self.name(), args.join(", "))
    }
}

impl VecDot {
    /// The text of the call for operands of these names.
    pub fn text(&self, x: &str, y: &str) -> String {
        let axis = if self.axis == -1 { String::new() } else { format!(", axis={}", self.axis) };
        format!("vecdot({x}, {y}{axis})")
    }
}
