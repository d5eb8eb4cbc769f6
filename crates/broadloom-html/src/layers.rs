//! Places the nodes of a graph in layers, with the method of Sugiyama, Tagawa and Toda.
//!
//! Boxes are listed with operands first, and each belongs to a band. Edges go down, each band is below the previous one, and the
//! boxes of a layer never overlap. The title of a band has a layer of its own, in which the edges to the band's boxes pass to the
//! right of the title. Edges are vertical within layers, where they keep away from boxes and titles, and bend only between layers,
//! so that no edge crosses a box or a title. The same input gives the same picture. Time and memory are bounded by the number of
//! boxes × the number of layers.

/// A box to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayoutBox {
    pub width: f64,
    /// The index of the box's band, counted from the top.
    pub band: usize,
    /// Whether the box is placed in a row of loose boxes, above all other boxes of its band.
    pub loose: bool,
}

/// A point of the picture, relative to the upper left corner.
pub(crate) type Point = (f64, f64);

/// The positions of the objects in a picture.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The centre of each box.
    pub boxes: Vec<Point>,
    /// The upper left corner of each band's title; `None` for a band without a title.
    pub titles: Vec<Option<Point>>,
    /// For each edge, its parts between layers, from the lower edge of one layer to the upper edge of the next. The edge is
    /// vertical from the end of one part to the beginning of the next.
    pub routes: Vec<Vec<[Point; 2]>>,
    pub width: f64,
    pub height: f64,
}

/// The heights of a box, of a line of a title, and of a whole title, which has two lines.
pub(crate) const HEIGHT: f64 = 40.0;
pub(crate) const LINE: f64 = 18.0;
pub(crate) const TITLE: f64 = 2.0 * LINE - 2.0;
/// The distance between two layers, and the distance that is added to it between bands.
const STRIP: f64 = 34.0;
const BAND: f64 = 24.0;
/// The gap between adjacent boxes of a layer.
const GAP: f64 = 16.0;
/// The margin of the picture.
const MARGIN: f64 = 28.0;
/// The number of iterations that improve orders and positions. Further iterations change little.
const ROUNDS: usize = 12;

/// A box, a title, or the point at which a long edge crosses a layer.
struct Spot {
    layer: usize,
    width: f64,
    x: f64,
    up: Vec<usize>,
    down: Vec<usize>,
}

/// The layer of each box and title, and the positions of the layers.
struct Layers {
    /// The layer of each box.
    of: Vec<usize>,
    /// For each layer, its upper edge and its height.
    rows: Vec<(f64, f64)>,
    /// The layer of each band's title.
    titles: Vec<Option<usize>>,
}

/// Places the boxes, and a title above the boxes of each band that are not loose; `titles` contains the widths of the titles. An
/// edge leads from an earlier box to a later one, whose band is the same or below. Loose boxes have no operands.
pub(crate) fn place(items: &[LayoutBox], edges: &[(usize, usize)], titles: &[f64]) -> Places {
    let layers = layers(items, edges, titles.len());
    let mut spots: Vec<Spot> = items
        .iter()
        .zip(&layers.of)
        .map(|(item, &layer)| Spot { layer, width: item.width, x: 0.0, up: Vec::new(), down: Vec::new() })
        .collect();
    let routes = thread(&mut spots, edges);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.rows.len()];
    spots.iter().enumerate().for_each(|(i, spot)| rows[spot.layer].push(i));
    order(&spots, &mut rows);
    // The title is placed before the first spot in its layer from which an edge leads to a box of its band.
    let mut above: Vec<(usize, Vec<usize>)> = Vec::new();
    let titled: Vec<Option<usize>> = (0..titles.len())
        .map(|band| {
            let layer = layers.titles[band]?;
            let boxes = (0..items.len()).filter(|&i| items[i].band == band && !items[i].loose).collect();
            above.push((spots.len(), boxes));
            let leads = |&i: &usize| ends(&spots, i, items.len()).any(|to| items[to].band == band);
            let place = rows[layer].iter().position(leads).unwrap_or(0);
            rows[layer].insert(place, spots.len());
            spots.push(Spot { layer, width: titles[band], x: 0.0, up: Vec::new(), down: Vec::new() });
            Some(spots.len() - 1)
        })
        .collect();
    settle(&mut spots, &rows, &above);
    let (left, right) = extent(&spots);
    let (left, right) = (left.min(0.0), right.max(0.0));
    let x = |i: usize| spots[i].x - left + MARGIN;
    let top = |i: usize| (x(i), layers.rows[spots[i].layer].0);
    let bottom = |i: usize| (x(i), top(i).1 + layers.rows[spots[i].layer].1);
    let part = |pair: &[usize]| [bottom(pair[0]), top(pair[1])];
    Places {
        boxes: (0..items.len()).map(|i| (x(i), top(i).1 + HEIGHT / 2.0)).collect(),
        titles: titled.iter().map(|at| at.map(|i| (x(i) - spots[i].width / 2.0, top(i).1))).collect(),
        routes: routes.iter().map(|route| route.windows(2).map(part).collect()).collect(),
        width: right - left + 2.0 * MARGIN,
        height: layers.rows.last().map_or(0.0, |(top, height)| top + height) + MARGIN,
    }
}

/// The left edge of the leftmost spot, and the right edge of the rightmost one.
fn extent<'s>(spots: impl IntoIterator<Item = &'s Spot>) -> (f64, f64) {
    spots.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(left, right), spot| {
        (left.min(spot.x - spot.width / 2.0), right.max(spot.x + spot.width / 2.0))
    })
}

/// The boxes to which edges lead from a spot. The first `boxes` spots are boxes.
fn ends(spots: &[Spot], spot: usize, boxes: usize) -> impl Iterator<Item = usize> {
    let mut waiting = spots[spot].down.clone();
    std::iter::from_fn(move || {
        while let Some(next) = waiting.pop() {
            if next < boxes {
                return Some(next);
            }
            waiting.extend(&spots[next].down);
        }
        None
    })
}

/// Computes the layers. Each box is in the highest layer that is below its operands, and the first `titles` bands have titles.
fn layers(items: &[LayoutBox], edges: &[(usize, usize)], titles: usize) -> Layers {
    let mut operands: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    edges.iter().for_each(|&(from, to)| operands[to].push(from));
    let bands = items.iter().map(|item| item.band + 1).max().unwrap_or(0);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); bands];
    items.iter().enumerate().for_each(|(i, item)| members[item.band].push(i));
    let mut made = Layers { of: vec![0; items.len()], rows: Vec::new(), titles: vec![None; titles] };
    let mut top = MARGIN;
    for (band, members) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let first = made.rows.len();
        let title = first + usize::from(members.iter().any(|&i| items[i].loose));
        let is_titled = band < titles && members.iter().any(|&i| !items[i].loose);
        let below = title + usize::from(is_titled);
        let mut last = first;
        for &i in members {
            let least = if items[i].loose { first } else { below };
            let wanted = operands[i].iter().map(|&o| made.of[o] + 1).max().unwrap_or(0);
            made.of[i] = least.max(wanted);
            last = last.max(made.of[i]);
        }
        top += if first == 0 { 0.0 } else { BAND };
        for n in first..=last {
            let height = if is_titled && n == title { TITLE } else { HEIGHT };
            made.rows.push((top, height));
            top += height + STRIP;
        }
        if is_titled {
            made.titles[band] = Some(title);
        }
    }
    made
}

/// Adds a spot in each layer that a long edge crosses. The edges that leave one box share these spots. Links all adjacent spots,
/// and returns the spots along each edge.
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
            // The sort is stable: spots with equal keys keep their order.
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            row.iter_mut().zip(sorted).for_each(|(to, (_, i))| *to = i);
            number(row, &mut at);
        }
    }
}

/// Moves each box towards the spots that it is linked to, and each title to the left edge of the boxes below it, as near as the
/// order and the gaps allow.
fn settle(spots: &mut [Spot], rows: &[Vec<usize>], titles: &[(usize, Vec<usize>)]) {
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
                    // The linked spots in the layer that was moved before this one have more weight.
                    let (up, below) = (spots[i].up.iter(), spots[i].down.iter());
                    let near = |j: &usize| spots[*j].x;
                    if let Some((_, boxes)) = titles.iter().find(|(title, _)| *title == i) {
                        return extent(boxes.iter().map(|&j| &spots[j])).0 + spots[i].width / 2.0;
                    }
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

/// The positions nearest to the wanted ones (least squares) that keep the order and the gaps. They are found by pooling adjacent
/// boxes whose wanted positions conflict.
fn apart(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offset = vec![0.0; wanted.len()];
    for i in 1..wanted.len() {
        offset[i] = offset[i - 1] + (widths[i - 1] + widths[i]) / 2.0 + GAP;
    }
    // Blocks of pooled boxes, each as the mean of its boxes' wanted positions and the number of its boxes.
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

    fn items(bands: &[usize]) -> Vec<LayoutBox> {
        bands
            .iter()
            .enumerate()
            .map(|(i, &band)| LayoutBox { width: 60.0 + i as f64, band, loose: false })
            .collect()
    }

    /// The boxes of a layer keep their distance, layers and bands are in order from top to bottom, and each route leads from box to
    /// box.
    #[test]
    fn nothing_overlaps_and_everything_goes_down() {
        let n = 60;
        let items = items(&(0..n).map(|i| i / 25).collect::<Vec<_>>());
        let edges: Vec<_> =
            (1..n).flat_map(|i| [(i * 7 % i, i), (i / 2, i)]).filter(|(from, to)| from < to).collect();
        let places = place(&items, &edges, &[150.0, 700.0]);
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
            let ends = [route[0][0], route[route.len() - 1][1]];
            let (from, to) = (places.boxes[from], places.boxes[to]);
            assert_eq!(ends, [(from.0, from.1 + HEIGHT / 2.0), (to.0, to.1 - HEIGHT / 2.0)]);
            assert!(route.as_flattened().is_sorted_by(|a, b| a.1 < b.1), "{route:?}");
            assert!(route.windows(2).all(|parts| parts[0][1].0 == parts[1][0].0), "{route:?}");
        }
        assert!(places.titles.iter().flatten().count() == 2, "{:?}", places.titles);
    }

    #[test]
    fn a_chain_is_straight_and_nothing_is_an_empty_picture() {
        let places = place(&items(&[0; 5]), &[(0, 1), (1, 2), (2, 3), (3, 4)], &[]);
        assert!(places.boxes.iter().all(|at| (at.0 - places.boxes[0].0).abs() < 1.0), "{places:?}");
        assert!(place(&[], &[], &[]).boxes.is_empty());
    }

    /// A title is at the left edge of its boxes; an edge that would cross it passes to the right.
    #[test]
    fn a_title_is_beside_edges() {
        let mut items = items(&[0; 4]);
        items[0].loose = true;
        let alone = place(&items[1..], &[(0, 1), (1, 2)], &[90.0]);
        let title = alone.titles[0].expect("a title");
        let left = alone.boxes[0].0 - items[1].width / 2.0;
        assert!((title.0 - left).abs() < 2.0, "{alone:?}");
        let places = place(&items, &[(0, 1), (1, 2), (2, 3)], &[90.0]);
        let title = places.titles[0].expect("a title");
        let edge = places.routes[0][0][1];
        assert!(edge.1 == title.1 && edge.0 >= title.0 + 90.0 + GAP - 1.0, "{places:?}");
        assert!(title.0 > places.boxes[1].0 - 100.0, "{places:?}");
    }

    #[test]
    fn places_are_the_nearest_that_do_not_overlap() {
        assert_eq!(apart(&[0.0, 100.0], &[10.0, 10.0]), [0.0, 100.0]);
        assert_eq!(apart(&[5.0, 5.0], &[10.0, 10.0]), [-8.0, 18.0]);
    }
}
