//! Contraction: a product that is added or subtracted becomes [`Op::Fma`], which rounds once.
//!
//! Contraction is part of an expression's meaning ([`Semantics::contract`](crate::graph::Semantics)). It is decided on
//! the expression as it was built, before operands are sorted, constants folded or rules applied, so that every way of
//! evaluating it gives the same bits. The decision is generic over [`NodeKind`], so that handles and graphs share it.

use crate::node::NodeKind;
use crate::op::Op;

/// A sum or difference that is contracted, with references `A` to its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contraction<A> {
    /// The rule as text, pattern to replacement.
    pub rule: &'static str,
    /// The factors of the product.
    pub factors: [A; 2],
    /// Whether the product is subtracted.
    pub negates_product: bool,
    /// The addend.
    pub addend: A,
    /// Whether the addend is subtracted.
    pub negates_addend: bool,
}

/// A product, and whether its negative is added.
struct Product<A> {
    factors: [A; 2],
    is_negative: bool,
}

/// The contraction of a float node, if it is a sum or difference with a product as an operand. If both operands are
/// products, the left one is contracted. `kind` returns the kind of a node, and `is_two` whether it is the constant 2.
pub fn contraction<'n, A, L: 'n, F: 'n>(
    node: &'n NodeKind<A, L, F>,
    kind: impl Fn(&'n A) -> &'n NodeKind<A, L, F>,
    is_two: impl Fn(&'n A) -> bool,
) -> Option<Contraction<&'n A>> {
    let NodeKind::Apply { op: op @ (Op::Add | Op::Subtract), args, .. } = node else { return None };
    let (left, right) = (args.get(0)?, args.get(1)?);
    let (first, side, addend) = match product(left, &kind, &is_two) {
        Some(first) => (first, 0, right),
        None => (product(right, &kind, &is_two)?, 1, left),
    };
    let is_difference = *op == Op::Subtract;
    Some(Contraction {
        rule: RULES[usize::from(is_difference)][side][usize::from(first.is_negative)],
        factors: first.factors,
        negates_product: first.is_negative != (is_difference && side == 1),
        addend,
        negates_addend: is_difference && side == 0,
    })
}

/// The names of the rules, indexed by sum or difference, by the side of the product, and by whether the product is
/// negated.
const RULES: [[[&str; 2]; 2]; 2] = [
    [
        ["contract: a * b + c -> fma(a, b, c)", "contract: -(a * b) + c -> fma(-a, b, c)"],
        ["contract: c + a * b -> fma(a, b, c)", "contract: c + -(a * b) -> fma(-a, b, c)"],
    ],
    [
        ["contract: a * b - c -> fma(a, b, -c)", "contract: -(a * b) - c -> fma(-a, b, -c)"],
        ["contract: c - a * b -> fma(-a, b, c)", "contract: c - -(a * b) -> fma(a, b, c)"],
    ],
];

/// Whether a float node is a product or a negated product, so that a sum with it as an operand is contracted.
pub fn is_product<'n, A, L: 'n, F: 'n>(
    node: &'n A,
    kind: impl Fn(&'n A) -> &'n NodeKind<A, L, F>,
    is_two: impl Fn(&'n A) -> bool,
) -> bool {
    product(node, &kind, &is_two).is_some()
}

fn product<'n, A, L: 'n, F: 'n>(
    node: &'n A,
    kind: &impl Fn(&'n A) -> &'n NodeKind<A, L, F>,
    is_two: &impl Fn(&'n A) -> bool,
) -> Option<Product<&'n A>> {
    let (node, is_negative) = match kind(node).args_of(Op::Negative).and_then(|args| args.get(0)) {
        Some(inner) => (inner, true),
        None => (node, false),
    };
    let NodeKind::Apply { op, args, .. } = kind(node) else { return None };
    let first = args.get(0)?;
    let second = match op {
        Op::Multiply => args.get(1)?,
        Op::Square => first,
        Op::Pow if is_two(args.get(1)?) => first,
        _ => return None,
    };
    Some(Product { factors: [first, second], is_negative })
}
