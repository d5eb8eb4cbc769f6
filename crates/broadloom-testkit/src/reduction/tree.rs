//! The canonical order in which elements are combined, written like its definition.
//!
//! Every function accepts any operation, so that a test can record the order itself.

/// The number of lanes of the canonical reduction.
pub const LANES: usize = 16;

/// Combines elements in the canonical order. `None` if there are no elements.
///
/// Element i belongs to lane i mod 16. The elements of each lane are combined [`pairwise`], and then so are the results of the
/// lanes.
///
/// ```
/// use broadloom_testkit::reduction::tree::canonical;
///
/// let letters: Vec<String> = ('a'..='r').map(String::from).collect();
/// let order = canonical(&letters, &|x, y| format!("({x}{y})"));
/// assert_eq!(order.as_deref(), Some("(((((aq)(br))(cd))((ef)(gh)))(((ij)(kl))((mn)(op))))"));
/// ```
pub fn canonical<T: Clone>(elements: &[T], combine: &impl Fn(&T, &T) -> T) -> Option<T> {
    let lane = |lane: usize| elements.iter().skip(lane).step_by(LANES).cloned().collect::<Vec<T>>();
    let lanes: Vec<T> = (0..LANES).filter_map(|number| pairwise(&lane(number), combine)).collect();
    pairwise(&lanes, combine)
}

/// Combines pairs of adjacent elements, and repeats this with the results until one is left. If the number is odd, the last
/// element is passed on unchanged.
///
/// ```
/// use broadloom_testkit::reduction::tree::pairwise;
///
/// let letters: Vec<String> = ('a'..='g').map(String::from).collect();
/// let order = pairwise(&letters, &|x, y| format!("({x}{y})"));
/// assert_eq!(order.as_deref(), Some("(((ab)(cd))((ef)g))"));
/// ```
pub fn pairwise<T: Clone>(elements: &[T], combine: &impl Fn(&T, &T) -> T) -> Option<T> {
    match elements {
        [] => None,
        [one] => Some(one.clone()),
        _ => {
            let pair = |pair: &[T]| match pair {
                [x, y] => combine(x, y),
                odd => odd[0].clone(),
            };
            pairwise(&elements.chunks(2).map(pair).collect::<Vec<T>>(), combine)
        }
    }
}

/// Combines each element with all elements before it.
///
/// The binary digits of i split the elements before element i into aligned blocks of 2^k elements. The total of each block,
/// computed [`pairwise`], is combined from left to right, largest block first, and finally with element i.
///
/// ```
/// use broadloom_testkit::reduction::tree::cumulative;
///
/// let letters: Vec<String> = ('a'..='h').map(String::from).collect();
/// let order = cumulative(&letters, &|x, y| format!("({x}{y})"));
/// assert_eq!(order[2], "((ab)c)");
/// assert_eq!(order[7], "(((((ab)(cd))(ef))g)h)");
/// ```
pub fn cumulative<T: Clone>(elements: &[T], combine: &impl Fn(&T, &T) -> T) -> Vec<T> {
    // totals[k][j] is the total of block j of 2^k elements.
    let mut totals: Vec<Vec<T>> = vec![elements.to_vec()];
    while totals.last().is_some_and(|finest| finest.len() > 1) {
        let below = &totals[totals.len() - 1];
        let above = below.chunks_exact(2).map(|pair| combine(&pair[0], &pair[1])).collect();
        totals.push(above);
    }
    let at = |i: usize| {
        let mut start = 0;
        let mut total: Option<T> = None;
        for k in (0..usize::BITS as usize).rev().filter(|k| i >> k & 1 == 1) {
            let block = &totals[k][start >> k];
            total = Some(total.map_or_else(|| block.clone(), |total| combine(&total, block)));
            start += 1 << k;
        }
        total.map_or_else(|| elements[i].clone(), |total| combine(&total, &elements[i]))
    };
    (0..elements.len()).map(at).collect()
}
