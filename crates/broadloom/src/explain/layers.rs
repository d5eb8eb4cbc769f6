//! Places the nodes of a graph in layers, with the method of Sugiyama, Tagawa and Toda.
//!
//! Boxes are given with operands first, each in a band, and edges go down; bands are below each other, and boxes of a layer never
//! overlap. The same input gives the same picture, and time and memory are bounded by boxes × layers.

/// A box to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub width: f64,
    /// The band, numbered from the top.
    pub band: usize,
    /// Whether it is placed above all boxes of its band that are not loose, next to other loose ones.
    pub loose: bool,
}

/// A point of the picture, from the upper left corner.
pub(crate) type Point = (f64, f64);

/// The positions of a picture.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The centre of each box.
    pub boxes: Vec<Point>,
    /// The points that each edge goes through, from box to box.
    pub routes: Vec<Vec<Point>>,
    pub width: f64,
    pub height: f64,
}

/// The height of a box.
pub(crate) const HEIGHT: f64 = 40.0;
/// The distance between layers, and the additional one between bands.
const STEP: f64 = 74.0;
const BAND: f64 = 34.0;
/// The gap between adjacent boxes of a layer.
const GAP: f64 = 16.0;
/// The margin of the picture.
const MARGIN: f64 = 28.0;
/// Number of iterations that improve orders and positions; more change little.
const ROUNDS: usize = 12;

/// A box, or the position where a long edge crosses a layer.
struct Spot {
    layer: usize,
    width: f64,
    x: f64,
    up: Vec<usize>,
    down: Vec<usize>,
}

/// Places the boxes. An edge is from an earlier box to a later one, whose band is the same or below.
pub(crate) fn place(items: &[Item], edges: &[(usize, usize)]) -> Places {
    let (layer, tops) = layers(items, edges);
    let mut spots: Vec<Spot> = items
        .iter()
        .zip(&layer)
        .map(|(item, &layer)| Spot { layer, width: item.width, x: 0.0, up: Vec::new(), down: Vec::new() })
        .collect();
    let routes = thread(&mut spots, edges);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); tops.len()];
    spots.iter().enumerate().for_each(|(i, spot)| rows[spot.layer].push(i));
    order(&spots, &mut rows);
    settle(&mut spots, &rows);
    let left = spots.iter().map(|s| s.x - s.width / 2.0).fold(f64::INFINITY, f64::min).min(0.0);
    let right = spots.iter().map(|s| s.x + s.width / 2.0).fold(0.0, f64::max);
    let point = |i: usize| (spots[i].x - left + MARGIN, tops[spots[i].layer] + HEIGHT / 2.0);
    Places {
        boxes: (0..items.len()).map(point).collect(),
        routes: routes.iter().map(|route| route.iter().map(|&i| point(i)).collect()).collect(),
        width: right - left + 2.0 * MARGIN,
        height: tops.last().map_or(0.0, |top| top + HEIGHT) + MARGIN,
    }
}

/// The layer of each box, as low as its operands allow, and the vertical position of each layer.
fn layers(items: &[Item], edges: &[(usize, usize)]) -> (Vec<usize>, Vec<f64>) {
    let mut operands: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    edges.iter().for_each(|&(from, to)| operands[to].push(from));
    let bands = items.iter().map(|item| item.band + 1).max().unwrap_or(0);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); bands];
    items.iter().enumerate().for_each(|(i, item)| members[item.band].push(i));
    let mut layer = vec![0; items.len()];
    let (mut tops, mut top) = (Vec::new(), MARGIN);
    for members in members.iter().filter(|members| !members.is_empty()) {
        let first = tops.len();
        let below = first + usize::from(members.iter().any(|&i| items[i].loose));
        let mut last = first;
        for &i in members {
            let least = if items[i].loose { first } else { below };
            let wanted = operands[i].iter().map(|&o| layer[o] + 1).max().unwrap_or(0);
            layer[i] = least.max(wanted);
            last = last.max(layer[i]);
        }
        top += if first == 0 { 0.0 } else { BAND };
        for n in first..=last {
            // The box of a band begins below its loose boxes.
            top += if n == below { BAND } else { 0.0 };
            tops.push(top);
            top += STEP;
        }
    }
    (layer, tops)
}

/// Adds a spot for long edges in each layer that they cross, shared by the edges of one box, and links all adjacent spots.
fn thread(spots: &mut Vec<Spot>, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut threads: Vec<Vec<usize>> = vec![Vec::new(); spots.len()];
    let mut routes = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        let mut route = vec![from];
        for layer in spots[from].layer + 1..spots[to].layer {
            let step = layer - spots[from].layer - 1;
            if step == threads[from].len() {
                let new = spots.len();
                spots.push(Spot { layer, width: 2.0, x: 0.0, up: Vec::new(), down: Vec::new() });
                let above = *route.last().unwrap_or(&from);
                spots[above].down.push(new);
                spots[new].up.push(above);
                threads[from].push(new);
            }
            route.push(threads[from][step]);
        }
        let above = *route.last().unwrap_or(&from);
        spots[above].down.push(to);
        spots[to].up.push(above);
        route.push(to);
        routes.push(route);
    }
    routes
}

/// Orders each layer by the positions of the linked spots, so that few edges cross.
fn order(spots: &[Spot], rows: &mut [Vec<usize>]) {
    let mut at: Vec<f64> = vec![0.0; spots.len()];
    let number = |row: &[usize], at: &mut Vec<f64>| {
        row.iter().enumerate().for_each(|(place, &i)| at[i] = place as f64 - row.len() as f64 / 2.0);
    };
    rows.iter().for_each(|row| number(row, &mut at));
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        for n in 0..rows.len() {
            let n = if down { n } else { rows.len() - 1 - n };
            let row = &mut rows[n];
            let key = |i: usize| {
                let near = if down { &spots[i].up } else { &spots[i].down };
                mean(near.iter().map(|&j| at[j])).unwrap_or(at[i])
            };
            let mut sorted: Vec<(f64, usize)> = row.iter().map(|&i| (key(i), i)).collect();
            // The sort is stable: equal ones keep their order.
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            row.iter_mut().zip(sorted).for_each(|(to, (_, i))| *to = i);
            number(row, &mut at);
        }
    }
}

/// Moves the boxes of each layer towards their linked spots, as near as the order and the gaps allow.
fn settle(spots: &mut [Spot], rows: &[Vec<usize>]) {
    for row in rows {
        let mut x = 0.0;
        for &i in row {
            spots[i].x = x + spots[i].width / 2.0;
            x += spots[i].width + GAP;
        }
        row.iter().for_each(|&i| spots[i].x -= x / 2.0);
    }
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        for n in 0..rows.len() {
            let row = &rows[if down { n } else { rows.len() - 1 - n }];
            let wanted: Vec<f64> = row
                .iter()
                .map(|&i| {
                    // The layer that was moved previously counts more.
                    let (up, below) = (spots[i].up.iter(), spots[i].down.iter());
                    let near = |j: &usize| spots[*j].x;
                    let (first, second) = match down {
                        true => (mean(up.map(near)), mean(below.map(near))),
                        false => (mean(below.map(near)), mean(up.map(near))),
                    };
                    match (first, second) {
                        (Some(a), Some(b)) => 0.75 * a + 0.25 * b,
                        (Some(a), None) | (None, Some(a)) => a,
                        (None, None) => spots[i].x,
                    }
                })
                .collect();
            let widths: Vec<f64> = row.iter().map(|&i| spots[i].width).collect();
            row.iter().zip(apart(&wanted, &widths)).for_each(|(&i, x)| spots[i].x = x);
        }
    }
}

/// The positions nearest to the wanted ones (least squares) that keep the order and the gaps, found by pooling adjacent ones whose
/// wanted positions conflict.
fn apart(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offset = vec![0.0; wanted.len()];
    for i in 1..wanted.len() {
        offset[i] = offset[i - 1] + (widths[i - 1] + widths[i]) / 2.0 + GAP;
    }
    // Blocks, each with the mean of its members' wanted positions and the number of members.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (want, offset) in wanted.iter().zip(&offset) {
        let mut block = (want - offset, 1);
        while let Some(&(before, n)) = blocks.last()
            && before > block.0
        {
            block = ((before * n as f64 + block.0 * block.1 as f64) / (n + block.1) as f64, n + block.1);
            blocks.pop();
        }
        blocks.push(block);
    }
    let places = blocks.iter().flat_map(|&(x, n)| std::iter::repeat_n(x, n));
    places.zip(&offset).map(|(x, offset)| x + offset).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(bands: &[usize]) -> Vec<Item> {
        bands
            .iter()
            .enumerate()
            .map(|(i, &band)| Item { width: 60.0 + i as f64, band, loose: false })
            .collect()
    }

    /// Boxes of one layer keep their distance, layers and bands go down, routes go from box to box.
    #[test]
    fn nothing_overlaps_and_everything_goes_down() {
        let n = 60;
        let items = items(&(0..n).map(|i| i / 25).collect::<Vec<_>>());
        let edges: Vec<_> =
            (1..n).flat_map(|i| [(i * 7 % i, i), (i / 2, i)]).filter(|(from, to)| from < to).collect();
        let places = place(&items, &edges);
        for (i, a) in places.boxes.iter().enumerate() {
            for (j, b) in places.boxes.iter().enumerate().skip(i + 1) {
                let apart = (items[i].width + items[j].width) / 2.0 + GAP - 1e-6;
                assert!(a.1 != b.1 || (a.0 - b.0).abs() >= apart, "{i} and {j} overlap: {a:?} {b:?}");
                assert!(items[i].band >= items[j].band || a.1 < b.1, "{i} is not above {j}");
            }
            let inside = a.0 - items[i].width / 2.0 >= 0.0 && a.0 + items[i].width / 2.0 <= places.width;
            assert!(inside && a.1 + HEIGHT / 2.0 <= places.height, "{i} is outside: {a:?}");
        }
        for (&(from, to), route) in edges.iter().zip(&places.routes) {
            assert_eq!((route[0], route[route.len() - 1]), (places.boxes[from], places.boxes[to]));
            assert!(route.is_sorted_by(|a, b| a.1 < b.1), "{route:?}");
        }
    }

    #[test]
    fn a_chain_is_straight_and_nothing_is_an_empty_picture() {
        let places = place(&items(&[0; 5]), &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert!(places.boxes.iter().all(|at| (at.0 - places.boxes[0].0).abs() < 1.0), "{places:?}");
        assert!(place(&[], &[]).boxes.is_empty());
    }

    #[test]
    fn places_are_the_nearest_that_do_not_overlap() {
        assert_eq!(apart(&[0.0, 100.0], &[10.0, 10.0]), [0.0, 100.0]);
        assert_eq!(apart(&[5.0, 5.0], &[10.0, 10.0]), [-8.0, 18.0]);
    }
}
