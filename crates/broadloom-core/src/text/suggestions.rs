//! Suggestions ("did you mean"): the known name nearest to a misspelt one, by edit distance.
//!
//! The work is bounded by the number of candidates, whatever the length of the names.

/// Names longer than this are not compared; no function or dtype has so long a name.
const LONGEST: usize = 64;

/// The maximum number of candidates that are compared.
const MOST: usize = 1000;

/// The candidate that `name` is most likely a misspelling of, if there is one.
///
/// A candidate is near enough if at most a third of the name's letters (at least one) are inserted, dropped, replaced or swapped
/// with the adjacent letter. A swap counts slightly less, and a change of case a fifth. Of equally near candidates the first one
/// is taken. Names over 64 characters have no suggestions, and of the candidates the first thousand count.
///
/// ```
/// use broadloom_core::text::nearest;
/// assert_eq!(nearest("sqtr", ["sin", "sqrt", "square"].into_iter()).as_deref(), Some("sqrt"));
/// assert_eq!(nearest("frobnicate", ["sin", "sqrt", "square"].into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let name: Vec<char> = name.chars().take(LONGEST + 1).collect();
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let limit = LETTER * (name.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.take(MOST) {
        let letters: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
        let bound = best.map_or(limit, |(cost, _)| cost - 1);
        if letters.is_empty()
            || letters.len() > LONGEST
            || LETTER * name.len().abs_diff(letters.len()) > bound
        {
            continue;
        }
        let cost = distance(&name, &letters);
        // A name with every letter replaced (`x` for `y`) is another name, not a misspelling.
        if cost <= bound && cost < LETTER * name.len() {
            best = Some((cost, candidate));
            if cost == 0 {
                break;
            }
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
}

/// The cost of an edit. Swaps and changes of case cost less.
const LETTER: usize = 5;

/// The cost of the cheapest edits from `a` to `b`: insertions, deletions, substitutions and swaps of adjacent letters ("optimal
/// string alignment").
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before = vec![0; width];
    let mut above: Vec<usize> = (0..width).map(|j| j * LETTER).collect();
    let mut row = vec![0; width];
    for i in 1..=a.len() {
        row[0] = i * LETTER;
        for j in 1..width {
            let (x, y) = (a[i - 1], b[j - 1]);
            let replace = match x == y {
                true => 0,
                false if x.eq_ignore_ascii_case(&y) => 1,
                false => LETTER,
            };
            row[j] = (above[j - 1] + replace).min(above[j] + LETTER).min(row[j - 1] + LETTER);
            if i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y {
                row[j] = row[j].min(before[j - 2] + LETTER - 1);
            }
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above[b.len()]
}
