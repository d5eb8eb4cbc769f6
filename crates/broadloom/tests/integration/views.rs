//! Views are compared with a simple model that lists all elements.

use broadloom::prelude::*;

/// The shape of an array and its elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    shape: Vec<usize>,
    data: Vec<i32>,
}

impl Model {
    /// The array of this shape whose element at each index is the model's at `from(index)`.
    fn pick(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let n: usize = shape.iter().product();
        let data = (0..n).map(|i| self.at(&from(&index(&shape, i)))).collect();
        Model { shape, data }
    }

    fn at(&self, index: &[usize]) -> i32 {
        self.data[index.iter().zip(&self.shape).fold(0, |at, (i, n)| at * n + i)]
    }
}

fn index(shape: &[usize], mut i: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (axis, &n) in shape.iter().enumerate().rev() {
        (out[axis], i) = (i % n, i / n);
    }
    out
}

/// A xorshift generator, whose seed identifies a test case.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
    fn between(&mut self, low: isize, high: isize) -> isize {
        low + self.below((high - low + 1) as usize) as isize
    }
}

/// Applies the same random view to an array and its model; `None` if the chosen view is not
/// possible.
fn step<'a>(r: &mut Random, x: &Array<'a>, m: &Model) -> Option<Result<(Array<'a>, Model)>> {
    let rank = m.shape.len();
    let axis = if rank == 0 { 0 } else { r.below(rank) };
    let signed =
        |r: &mut Random, axis: usize, n: usize| axis as isize - if r.below(2) == 0 { n as isize } else { 0 };
    let (view, model) = match r.below(9) {
        0 => (
            Ok(x.t()),
            m.pick(m.shape.iter().rev().copied().collect(), |i| i.iter().rev().copied().collect()),
        ),
        1 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            (1..rank).for_each(|i| axes.swap(i, r.below(i + 1)));
            let shape = axes.iter().map(|&a| m.shape[a]).collect();
            let given: Vec<isize> = axes.iter().map(|&a| signed(r, a, rank)).collect();
            (
                x.permute_dims(&given),
                m.pick(shape, |i| {
                    (0..rank).map(|a| i[axes.iter().position(|&b| b == a).unwrap_or(0)]).collect()
                }),
            )
        }
        2 | 3 => {
            let ranges: Vec<(Range, Vec<usize>)> = m
                .shape
                .iter()
                .map(|&n| {
                    // The bounds are inside the axis. Bounds outside it are tested in range.rs.
                    let a = r.between(0, n as isize);
                    let b = r.between(0, n as isize);
                    let step = r.between(1, 3);
                    if r.below(2) == 0 {
                        let kept = (a..b).step_by(step as usize).map(|i| i as usize).collect();
                        (Range::new(Some(a), Some(b), step), kept)
                    } else {
                        let mut kept: Vec<usize> = (0..n).rev().collect();
                        kept = kept.into_iter().step_by(step as usize).collect();
                        (Range::new(None, None, -step), kept)
                    }
                })
                .collect();
            let given: Vec<Range> = ranges.iter().map(|(range, _)| *range).collect();
            let shape = ranges.iter().map(|(_, kept)| kept.len()).collect();
            (
                x.slice(&given),
                m.pick(shape, |i| i.iter().zip(&ranges).map(|(&i, (_, kept))| kept[i]).collect()),
            )
        }
        4 if rank > 0 && m.shape[axis] > 0 => {
            let at = r.below(m.shape[axis]);
            let mut shape = m.shape.clone();
            let n = shape.remove(axis);
            let given = (signed(r, axis, rank), signed(r, at, n));
            (
                x.index_axis(given.0, given.1),
                m.pick(shape, |i| {
                    let mut i = i.to_vec();
                    i.insert(axis, at);
                    i
                }),
            )
        }
        5 if rank < 5 => {
            let at = r.below(rank + 1);
            let mut shape = m.shape.clone();
            shape.insert(at, 1);
            (x.expand_dims(signed(r, at, rank + 1)), Model { shape, data: m.data.clone() })
        }
        6 if rank > 0 && m.shape[axis] == 1 => {
            let mut shape = m.shape.clone();
            shape.remove(axis);
            (x.squeeze(signed(r, axis, rank)), Model { shape, data: m.data.clone() })
        }
        7 if rank < 5 && m.data.len() < 200 => {
            let new = r.below(2);
            let mut shape: Vec<usize> = vec![2; new];
            shape.extend(m.shape.iter().map(|&n| if n == 1 && r.below(2) == 0 { 3 } else { n }));
            let of = m.shape.clone();
            (
                x.broadcast_to(&shape),
                m.pick(shape, |i| i[new..].iter().zip(&of).map(|(&i, &n)| i.min(n.max(1) - 1)).collect()),
            )
        }
        8 => {
            // Reshapes to two axes; the extent of one of them is derived.
            let n = m.data.len();
            let parts: Vec<usize> = (1..=n).filter(|&p| n.is_multiple_of(p)).collect();
            let part = if parts.is_empty() { return None } else { parts[r.below(parts.len())] };
            let given = if r.below(2) == 0 { [part as isize, -1] } else { [-1, (n / part) as isize] };
            (x.reshape(&given), Model { shape: vec![part, n / part], data: m.data.clone() })
        }
        _ => return None,
    };
    Some(view.map(|view| (view, model)))
}

fn agrees(x: &Array<'_>, m: &Model, what: &str) {
    assert_eq!(x.shape(), m.shape, "{what}");
    assert_eq!(x.to_vec::<i32>().expect("int32"), m.data, "{what}");
}

#[test]
fn random_views_agree_with_the_model() {
    for seed in 1..400u64 {
        let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shape: Vec<usize> = (0..r.below(4)).map(|_| r.below(5)).collect();
        let data: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
        let mut model = Model { shape: shape.clone(), data: data.clone() };
        let mut leaf = Array::from_shape_slice(&shape, &data).expect("as many");
        let mut lazy = &leaf + 0;
        for i in 0..6 {
            let again = Random(r.0);
            let Some(next) = step(&mut r, &leaf, &model) else { continue };
            let before = model.clone();
            (leaf, model) = next.unwrap_or_else(|e| panic!("seed {seed}, step {i}: {e}"));
            lazy = match step(&mut { again }, &lazy, &before) {
                Some(Ok((lazy, _))) => lazy,
                other => panic!("seed {seed}, step {i}: {:?}", other.map(|r| r.map(|_| ()))),
            };
            agrees(&leaf, &model, &format!("seed {seed}, step {i}, of data"));
            agrees(&lazy, &model, &format!("seed {seed}, step {i}, of an expression"));
        }
    }
}

#[test]
fn views_of_data_copy_nothing() -> Result<()> {
    let data: Vec<f64> = (0..24).map(f64::from).collect();
    let x = Array::from_shape_slice(&[2, 3, 4], &data)?;
    let y = x.permute_dims(&[2, 0, 1])?;
    assert_eq!(y.strides(), Some(&[1, 12, 4][..]));
    assert_eq!(y.flip(0)?.strides(), Some(&[-1, 12, 4][..]));
    assert_eq!(x.index_axis(0, 1)?.as_slice::<f64>(), Some(&data[12..]));
    assert_eq!(x.reshape(&[4, 6])?.as_slice::<f64>().map(<[f64]>::as_ptr), Some(data.as_ptr()));
    assert_eq!(x.broadcast_to(&[5, 2, 3, 4])?.strides(), Some(&[0, 12, 4, 1][..]));
    assert!(!y.is_evaluated() && x.is_evaluated());
    // No strides can express this reshape, so it is lazy.
    let z = y.reshape(&[24])?;
    assert_eq!(z.strides(), None);
    assert_eq!(z.to_vec::<f64>()?[..3], [0.0, 4.0, 8.0]);
    Ok(())
}

#[test]
fn zeros_take_no_memory_however_they_are_viewed() -> Result<()> {
    let x = Array::full(&[1 << 30, 1 << 20], 2.5f32)?;
    let y = x.t().slice([(..3).into(), Range::new(None, None, -(1 << 29))])?.reshape(&[-1])?;
    assert_eq!((y + 1).to_vec::<f32>()?, [3.5; 6]);
    assert_eq!(x.index_axis(0, 7)?.index_axis(0, -1)?.item::<f32>()?, 2.5);
    Ok(())
}

#[test]
fn empty_views() -> Result<()> {
    let x = Array::from_shape_vec(&[3, 4], (0..12).collect())?;
    let none = x.slice((3.., 1..1))?;
    assert_eq!((none.shape(), none.is_empty()), (&[0, 0][..], true));
    assert_eq!(none.as_slice::<i32>(), Some(&[][..]));
    assert_eq!((none + 1).to_vec::<i32>()?, []);
    assert_eq!(x.slice([Range::new(Some(2), Some(1), 1)])?.reshape(&[7, -1])?.shape(), [7, 0]);
    Ok(())
}
