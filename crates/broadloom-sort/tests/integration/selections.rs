//! Selected elements, beside loops over the mask.

use broadloom_sort::{Selection, Stopped, Workers};

use crate::spec::{Numbers, Threads};

/// A mask of this length of which about one in `sparse` elements is true.
fn mask(len: usize, sparse: usize, numbers: &mut Numbers) -> Vec<u8> {
    (0..len).map(|_| if numbers.below(sparse) == 0 { 1 + numbers.below(255) as u8 } else { 0 }).collect()
}

#[test]
fn elements_and_indices() {
    let mut numbers = Numbers(1);
    for len in (0..140).chain([1000, 65_536, 200_003]) {
        for sparse in [1, 2, 7, usize::MAX] {
            let mask = mask(len, sparse, &mut numbers);
            let expected: Vec<i64> = (0..len as i64).filter(|&i| mask[i as usize] != 0).collect();
            for threads in [1, 3] {
                let workers = Threads(threads);
                let selection = Selection::new(&mask, 1, &workers).unwrap();
                assert_eq!(selection.count(), expected.len());
                let mut found = vec![-1; expected.len()];
                selection.indices(&mut found, &workers).unwrap();
                assert!(found == expected, "{len} {sparse}");
                // Two rows.
                let values: Vec<u16> = (0..2 * len).map(|_| numbers.bits() as u16).collect();
                let mut out = vec![0; 2 * expected.len()];
                selection.compress(&values, &mut out, &workers).unwrap();
                let rows = [0, len].map(|first| expected.iter().map(move |&i| first + i as usize));
                assert!(out.into_iter().eq(rows.into_iter().flatten().map(|i| values[i])), "{len} {sparse}");
            }
        }
    }
}

#[test]
fn rows_of_several_elements() {
    let mut numbers = Numbers(2);
    for (len, width) in [(0, 3), (1, 1), (10, 0), (10, 3), (300, 70_000), (70_000, 3)] {
        let mask = mask(len, 2, &mut numbers);
        let values: Vec<u32> = (0..len * width).map(|_| numbers.bits() as u32).collect();
        let expected: Vec<u32> =
            (0..len * width).filter(|i| mask[i / width] != 0).map(|i| values[i]).collect();
        for threads in [1, 3] {
            let selection = Selection::new(&mask, width, &Threads(threads)).unwrap();
            let mut out = vec![0; expected.len()];
            selection.compress(&values, &mut out, &Threads(threads)).unwrap();
            assert!(out == expected, "{len} {width}");
        }
    }
}

/// Stops at once.
struct Stopping;

impl Workers for Stopping {
    fn threads(&self) -> usize {
        1
    }

    fn share(&self, _: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        work();
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        Err(Stopped::ByWorkers)
    }
}

#[test]
fn selections_stop() {
    let selection = Selection::new(&[1], 1, &Threads(1)).unwrap();
    assert_eq!(Selection::new(&[1], 1, &Stopping).err(), Some(Stopped::ByWorkers));
    assert_eq!(selection.indices(&mut [0], &Stopping), Err(Stopped::ByWorkers));
    assert_eq!(selection.compress(&[7], &mut [0], &Stopping), Err(Stopped::ByWorkers));
}
