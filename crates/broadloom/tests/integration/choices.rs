//! Permutations and choices, from the random words and numbers that they are defined by.

use broadloom::prelude::*;
use broadloom::{DType, Evaluation, random};

fn indices(x: &Array<'_>) -> Result<Vec<usize>> {
    Ok(x.to_vec::<i64>()?.into_iter().map(|index| index as usize).collect())
}

/// The indices of words in ascending order.
fn order(words: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|&i| words[i]);
    order
}

#[test]
fn a_permutation_sorts_random_words() -> Result<()> {
    for n in [0, 1, 2, 1000, 200_000] {
        let key = random::key(n as u64);
        let expected = order(&random::bits(&key, &[n], DType::UInt64)?.to_vec::<u64>()?);
        for threads in [1, 3] {
            let options = Options { threads: Some(threads), ..Options::default() };
            assert!(
                indices(&Evaluation::with(&options).eval(&random::permutation(&key, n)?)?)? == expected,
                "{n}"
            );
        }
        assert!(indices(&random::choice(&key, n, &[n / 3], false, None)?)? == expected[..n / 3], "{n}");
    }
    let keys = random::split(&random::key(5), 3)?;
    let several = random::permutation(&keys, 10)?;
    assert_eq!(several.shape(), [3, 10]);
    for i in 0..3 {
        let one = random::permutation(&keys.index_axis(0, i)?, 10)?;
        assert_eq!(indices(&several.index_axis(0, i)?)?, indices(&one)?);
    }
    assert_eq!(random::permutation(&Array::from([1]), 3).unwrap_err().kind(), ErrorKind::DType);
    Ok(())
}

#[test]
fn rows_are_shuffled_together() -> Result<()> {
    let (key, x) = (random::key(9), Array::from_shape_vec(&[4, 6], (0..24).collect::<Vec<i32>>())?);
    for (axis, n, stride) in [(0, 4, 6), (1, 6, 1)] {
        let order = order(&random::bits(&key, &[n], DType::UInt64)?.to_vec::<u64>()?);
        let shuffled = random::shuffle(&key, &x, axis)?.to_vec::<i32>()?;
        let expected = (0..24).map(|i| {
            let at = i / stride % n;
            (i - at * stride + order[at] * stride) as i32
        });
        assert_eq!(shuffled, expected.collect::<Vec<_>>());
    }
    assert_eq!(random::shuffle(&key, &x, 2).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn choices_with_replacement() -> Result<()> {
    let key = random::key(7);
    let chosen = random::choice(&key, 10, &[20, 5], true, None)?;
    let integers = random::integers(&key, 0, 10, &[20, 5], DType::Int64)?;
    assert_eq!((chosen.shape(), indices(&chosen)?), (&[20, 5][..], indices(&integers)?));

    let weights = [0.0, 0.5, 0.0, 2.5, 1.0, 0.0];
    let sums = [0.0, 0.5, 0.5, 3.0, 4.0, 4.0];
    let numbers = random::uniform(&key, &[3000], DType::Float64)?.to_vec::<f64>()?;
    let expected = numbers.iter().map(|u| sums.iter().filter(|&&sum| sum <= u * 4.0).count());
    let chosen = indices(&random::choice(&key, 6, &[3000], true, Some(&Array::from(weights)))?)?;
    assert_eq!(chosen, expected.collect::<Vec<_>>());
    assert!(chosen.iter().all(|&i| weights[i] > 0.0));
    let share = chosen.iter().filter(|&&i| i == 3).count() as f64 / 3000.0;
    assert!((share - 0.625).abs() < 0.05, "{share}");
    Ok(())
}

#[test]
fn weighted_choices_without_replacement() -> Result<()> {
    let key = random::key(8);
    let weights: Vec<f64> = (0..500).map(|i| f64::from(i % 7)).collect();
    let times = random::exponential(&key, &[500], DType::Float64)?.to_vec::<f64>()?;
    let mut expected: Vec<usize> = (0..500).filter(|&i| weights[i] > 0.0).collect();
    expected.sort_by(|&a, &b| (times[a] / weights[a]).total_cmp(&(times[b] / weights[b])));
    let most = expected.len();
    for k in [0, 1, 40, most] {
        let chosen = random::choice(&key, 500, &[k], false, Some(&Array::from_slice(&weights)))?;
        assert_eq!(indices(&chosen)?, expected[..k]);
    }
    let integers = Array::from_slice(&weights).astype(DType::UInt8);
    let chosen = random::choice(&key, 500, &[20, 2], false, Some(&integers))?;
    assert_eq!((chosen.shape(), indices(&chosen)?), (&[20, 2][..], expected[..40].to_vec()));
    let more = random::choice(&key, 500, &[most + 1], false, Some(&integers));
    assert_eq!(more.unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn refused_choices() -> Result<()> {
    let key = random::key(1);
    let kind = |n, shape: &[usize], replace, weights: Option<&Array<'_>>| {
        random::choice(&key, n, shape, replace, weights).map(drop).unwrap_err().kind()
    };
    assert_eq!(kind(3, &[4], false, None), ErrorKind::Shape);
    assert_eq!(kind(0, &[1], true, None), ErrorKind::Shape);
    assert_eq!(kind(3, &[1], true, Some(&Array::from([1.0; 2]))), ErrorKind::Shape);
    for wrong in [[1.0, -1.0], [f64::NAN, 1.0], [0.0, 0.0], [f64::INFINITY, 1.0], [f64::MAX, f64::MAX]] {
        assert_eq!(kind(2, &[1], true, Some(&Array::from(wrong))), ErrorKind::Literal, "{wrong:?}");
    }
    for (n, replace) in [(0, true), (0, false), (4, true)] {
        let none = Array::from_vec(vec![1.0; n]);
        for weights in [None, Some(&none)] {
            assert_eq!(random::choice(&key, n, &[0, 2], replace, weights)?.shape(), [0, 2]);
        }
    }
    Ok(())
}
