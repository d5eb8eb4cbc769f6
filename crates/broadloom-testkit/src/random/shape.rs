//! Rules for shapes: the limits on an array's size, and broadcasting as the Array API standard defines it. Nothing here comes
//! from `broadloom-core`, which is tested against it.

/// The number of elements of a shape, or an error if the library does not allow the shape: it may have at most 64 axes, and with
/// elements of 8 bytes it must fit the address space even without its empty axes.
pub fn elements(shape: &[usize]) -> Result<usize, String> {
    let stretch = shape.iter().filter(|&&extent| extent != 0).try_fold(8usize, |n, &e| n.checked_mul(e));
    let fits = stretch.is_some_and(|n| isize::try_from(n).is_ok()) && shape.len() <= 64;
    if fits { Ok(shape.iter().product()) } else { Err(format!("{shape:?} exceeds a limit")) }
}

/// The shape that two shapes broadcast to.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent = |s: &[usize], axis: usize| (axis + s.len()).checked_sub(rank).map_or(1, |axis| s[axis]);
    (0..rank)
        .map(|axis| match (extent(a, axis), extent(b, axis)) {
            (x, y) if x == y || y == 1 => Some(x),
            (1, y) => Some(y),
            _ => None,
        })
        .collect()
}
