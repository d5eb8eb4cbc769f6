//! Rules for shapes alone: the limits of an array's size, and broadcasting as the Array API standard defines it. Nothing
//! here comes from `broadloom-core`, which is tested against it.

/// How many elements an array of this shape has, if there can be one: the library says 64 axes at most, and an address
/// space for elements of 8 bytes, also without the axes that are empty.
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
