//! The places of elements, by which errors name them.

/// The index of an element in each axis of a shape.
pub(super) fn place(shape: &[usize], mut element: usize) -> String {
    let mut index: Vec<String> = Vec::with_capacity(shape.len());
    for &extent in shape.iter().rev() {
        index.push((element % extent.max(1)).to_string());
        element /= extent.max(1);
    }
    index.reverse();
    format!("[{}]", index.join(","))
}
