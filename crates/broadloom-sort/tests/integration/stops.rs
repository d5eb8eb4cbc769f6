//! Work that is stopped, and threads that do not come.

use broadloom_math::DType;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom_sort::{
    Direction, Memory, Side, Stopped, Workers, argsort, searchsorted, sort, topk, unique, unique_indices,
    words_needed,
};

use crate::spec::{Numbers, compare, row};

/// Says that it has three threads, but runs everything on one; stops after some units.
struct Limited(AtomicUsize);

impl Limited {
    fn to(units: usize) -> Limited {
        Limited(AtomicUsize::new(units))
    }
}

impl Workers for Limited {
    fn threads(&self) -> usize {
        3
    }

    fn share(&self, _: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        work();
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| Stopped::ByWorkers)
    }
}

#[test]
fn every_function_stops() {
    let values = row::<f64>("bits", 100_000, &mut Numbers(1));
    let mut memory = Memory::default();
    let len = values.len();
    for units in [0, 1, 2] {
        let stops = [
            sort::<f64>(
                &values,
                len,
                Direction::Ascending,
                &mut vec![0.0; len],
                &mut memory,
                &Limited::to(units),
            ),
            argsort::<f64>(
                &values,
                len,
                Direction::Ascending,
                &mut vec![0; len],
                &mut memory,
                &Limited::to(units),
            ),
            searchsorted::<f64>(&values, &values, Side::Left, &mut vec![0; len], &Limited::to(units)),
            unique::<f64>(&values, &mut memory, &Limited::to(units)).map(|_| ()),
            unique_indices::<f64>(&values, &mut memory, &Limited::to(units)).map(|_| ()),
        ];
        assert_eq!(stops, [Err(Stopped::ByWorkers); 5], "{units}");
    }
    let results = (&mut [0.0][..], &mut [0][..]);
    assert!(topk::<f64>(&values, len, 1, Direction::Ascending, results, &Limited::to(0)).is_err());
}

#[test]
fn one_thread_does_the_work_of_all() {
    let values = row::<f64>("bits", 100_000, &mut Numbers(1));
    let (mut sorted, len, workers) = (values.clone(), values.len(), Limited::to(usize::MAX));
    sort::<f64>(&values, len, Direction::Ascending, &mut sorted, &mut Memory::default(), &workers).unwrap();
    assert!(sorted.is_sorted_by(|&a, &b| compare::<f64>(Direction::Ascending, a, b).is_le()));
}

/// Items are in the memory of the caller if that suffices, whatever it contains.
#[test]
fn memory_is_lent_or_kept() {
    let values = row::<f64>("bits", 100_000, &mut Numbers(1));
    let (mut sorted, len, workers) = (values.clone(), values.len(), Limited::to(usize::MAX));
    for (with_indices, missing) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let mut words = vec![u64::MAX / 3; words_needed(DType::Float64, len, with_indices, 3) - missing];
        let mut memory = Memory::lent(&mut words);
        for _ in 0..2 {
            if with_indices {
                let indices = &mut vec![0; len];
                argsort::<f64>(&values, len, Direction::Ascending, indices, &mut memory, &workers).unwrap();
                sorted.iter_mut().zip(indices).for_each(|(to, &mut index)| *to = values[index as usize]);
            } else {
                sort::<f64>(&values, len, Direction::Ascending, &mut sorted, &mut memory, &workers).unwrap();
            }
            assert!(sorted.is_sorted_by(|&a, &b| compare::<f64>(Direction::Ascending, a, b).is_le()));
            assert_eq!(memory.bytes() > 0, missing > 0);
        }
    }
}
