//! Work that is stopped, and threads that do not come.

use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom_sort::{
    Direction, Memory, Side, Stopped, Workers, argsort, searchsorted, sort, topk, unique, unique_indices,
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
            sort::<f64>(&mut values.clone(), len, Direction::Ascending, &mut memory, &Limited::to(units)),
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
    let mut values = row::<f64>("bits", 100_000, &mut Numbers(1));
    let len = values.len();
    let workers = Limited::to(usize::MAX);
    sort::<f64>(&mut values, len, Direction::Ascending, &mut Memory::default(), &workers).unwrap();
    assert!(values.is_sorted_by(|&a, &b| compare::<f64>(Direction::Ascending, a, b).is_le()));
}

#[test]
fn memory_is_kept() {
    let mut values = row::<f64>("bits", 100_000, &mut Numbers(1));
    let (mut memory, len) = (Memory::default(), values.len());
    let workers = Limited::to(usize::MAX);
    sort::<f64>(&mut values, len, Direction::Ascending, &mut memory, &workers).unwrap();
    assert!(memory.bytes() >= 8 * len);
}
