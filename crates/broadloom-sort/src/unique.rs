//! The distinct elements of a row, compared by `==`: −0 and +0 are one value, and each NaN is a value of its own, as the Array
//! API has it.

use broadloom_math::Elem;

use crate::item::{Memory, zeros};
use crate::order::{Direction, is_nan, key_of_value};
use crate::sort::{argsort_by, sort};
use crate::workers::{Stopped, Workers};

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
/// The workers stopped.
pub fn unique<T: Elem>(
    row: &[T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<Unique<T::Store>, Stopped> {
    let mut values = zeros(row.len())?;
    sort::<T>(row, row.len(), Direction::Ascending, &mut values, memory, workers)?;
    let mut counts: Vec<i64> = Vec::new();
    let mut last = None;
    values.retain(|&value| {
        let key = key_of_value::<T>(value);
        let is_new = last != Some(key) || is_nan::<T>(key);
        last = Some(key);
        if is_new {
            counts.push(0);
        }
        counts.iter_mut().next_back().into_iter().for_each(|count| *count += 1);
        is_new
    });
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
/// The workers stopped.
pub fn unique_indices<T: Elem>(
    row: &[T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<UniqueIndices<T::Store>, Stopped> {
    let mut order = zeros(row.len())?;
    argsort_by::<T>(row, row.len(), &key_of_value::<T>, &mut order, memory, workers)?;
    let mut found = UniqueIndices { inverse: zeros(row.len())?, ..Default::default() };
    let mut last = None;
    for part in order.chunks(1 << 18) {
        workers.go_on()?;
        for &index in part {
            let value = row[index as usize];
            let key = key_of_value::<T>(value);
            if last != Some(key) || is_nan::<T>(key) {
                found.values.push(value);
                found.first.push(index);
                found.counts.push(0);
            }
            last = Some(key);
            found.counts.iter_mut().next_back().into_iter().for_each(|count| *count += 1);
            found.inverse[index as usize] = found.values.len() as i64 - 1;
        }
    }
    Ok(found)
}
