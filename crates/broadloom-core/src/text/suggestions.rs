//! Suggestions ("did you mean"): the known name that is closest to a misspelt one, by edit distance.
//!
//! The work is bounded by the number of candidates, whatever the length of the names.

use std::cmp::Reverse;

use strsim::{levenshtein, osa_distance};

/// The maximum length of names that are compared, in characters. No function or dtype has a longer one.
const LONGEST: usize = 64;

/// The maximum number of candidates that are compared.
const MOST: usize = 1000;

/// The candidate that `name` is most likely a misspelling of; `None` if no candidate is close.
///
/// A candidate is close if, apart from case, at most a third of the name's letters (but at least one) are inserted, deleted, replaced
/// or swapped with the adjacent letter. Among equally close candidates, the one with the most swaps is returned, or the
/// first of several such. Names of more than 64 characters have no suggestions, and only the first thousand candidates
/// are compared.
///
/// ```
/// use broadloom_core::text::nearest;
/// assert_eq!(nearest("sqtr", ["sin", "sqrt", "square"].into_iter()).as_deref(), Some("sqrt"));
/// assert_eq!(nearest("frobnicate", ["sin", "sqrt", "square"].into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let length = |name: &str| name.chars().take(LONGEST + 1).count();
    let letters = length(name);
    if !(1..=LONGEST).contains(&letters) {
        return None;
    }
    // At least one letter must stay: `x` is not a misspelling of `y`.
    let limit = (letters / 3).max(1).min(letters.saturating_sub(1));
    let name = name.to_ascii_lowercase();
    let near = candidates.take(MOST).filter_map(|candidate| {
        let others = length(candidate);
        // The difference of the lengths is a lower bound of the number of edits.
        if others > LONGEST || others.abs_diff(letters) > limit {
            return None;
        }
        let other = candidate.to_ascii_lowercase();
        let edits = osa_distance(&name, &other);
        // The Levenshtein distance counts each swap as two edits, so of candidates with equally many edits, it is
        // larger for those with more swaps.
        (edits <= limit).then(|| (edits, Reverse(levenshtein(&name, &other)), candidate))
    });
    near.min_by_key(|(edits, swaps, _)| (*edits, *swaps)).map(|(.., candidate)| candidate.to_owned())
}
