//! The distinct elements of a row, compared by `==`: −0 and +0 are one value, and each NaN is a value of its own, as the Array
//! API has it.

use broadloom_math::Elem;

use crate::item::{Memory, zeros};
use crate::order::{Direction, is_nan, key_of_value};
use crate::sort::{argsort_by, sort};
use crate::workers::{Stopped, Workers};

/// Between this many elements, a thread asks whether it goes on.
const BETWEEN: usize = 1 << 18;

/// The distinct elements of a row, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unique<S> {
    /// The first occurrence of each value, whose bits decide whether a zero is −0 or +0.
    pub values: Vec<S>,
    /// The number of occurrences of each value.
    pub counts: Vec<i64>,
}

/// The distinct elements of a row, sorted, and where they occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniqueIndices<S> {
    /// The first occurrence of each value, whose bits decide whether a zero is −0 or +0.
    pub values: Vec<S>,
    /// The index of the first occurrence of each value.
    pub first: Vec<i64>,
    /// For each element of the row, the index of its value.
    pub inverse: Vec<i64>,
    /// The number of occurrences of each value.
    pub counts: Vec<i64>,
}

/// The distinct elements of a row.
///
/// # Errors
///
/// The workers stopped, or the system refused memory.
pub fn unique<T: Elem>(
    row: &[T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<Unique<T::Store>, Stopped> {
    let mut values = zeros(row.len())?;
    sort::<T>(row, row.len(), Direction::Ascending, &mut values, memory, workers)?;
    let mut counts: Vec<i64> = Vec::new();
    let mut last = None;
    let mut found = 0;
    for first in (0..values.len()).step_by(BETWEEN) {
        workers.go_on()?;
        for i in first..values.len().min(first + BETWEEN) {
            let value = values[i];
            let key = key_of_value::<T>(value);
            if last != Some(key) || is_nan::<T>(key) {
                push(&mut counts, 0)?;
                values[found] = value;
                found += 1;
            }
            last = Some(key);
            counts[found - 1] += 1;
        }
    }
    values.truncate(found);
    // The sort has −0 first. The zero that occurs first in the row may be the other one.
    let zero = key_of_value::<T>(T::default().store());
    if T::DTYPE.is_float()
        && let Ok(place) = values.binary_search_by_key(&zero, |&value| key_of_value::<T>(value))
        && let Some(&first) = row.iter().find(|&&value| key_of_value::<T>(value) == zero)
    {
        values[place] = first;
    }
    Ok(Unique { values, counts })
}

/// The distinct elements of a row, and where they occur.
///
/// # Errors
///
/// The workers stopped, or the system refused memory.
pub fn unique_indices<T: Elem>(
    row: &[T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<UniqueIndices<T::Store>, Stopped> {
    let mut order = zeros(row.len())?;
    argsort_by::<T>(row, row.len(), &key_of_value::<T>, &mut order, memory, workers)?;
    let mut found = UniqueIndices { inverse: zeros(row.len())?, ..Default::default() };
    let mut last = None;
    for part in order.chunks(BETWEEN) {
        workers.go_on()?;
        for &index in part {
            let value = row[index as usize];
            let key = key_of_value::<T>(value);
            if last != Some(key) || is_nan::<T>(key) {
                push(&mut found.values, T::load(value).store())?;
                push(&mut found.first, index)?;
                push(&mut found.counts, 0)?;
            }
            last = Some(key);
            found.counts.iter_mut().next_back().into_iter().for_each(|count| *count += 1);
            found.inverse[index as usize] = found.values.len() as i64 - 1;
        }
    }
    Ok(found)
}

/// Adds a value, for which the system may refuse memory.
fn push<V>(values: &mut Vec<V>, value: V) -> Result<(), Stopped> {
    values.try_reserve(1).map_err(|_| Stopped::ByMemory)?;
    values.push(value);
    Ok(())
}
