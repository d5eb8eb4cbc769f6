//! Times several contenders in alternation.
//!
//! Contenders alternate in batches that are long enough for the clock's resolution, so that a slow phase of the machine
//! affects all of them.

use std::time::{Duration, Instant};

/// A function to be timed. It runs the code as many times as its argument specifies.
pub type Contender<'c> = Box<dyn FnMut(usize) + 'c>;

/// The minimum duration of a batch, which is long enough for the clock's resolution.
const BATCH: Duration = Duration::from_micros(50);
/// The maximum number of calls in a batch.
const MOST_CALLS: usize = 1 << 20;
/// If a contender's calls take at most this long, its data may be in a cache, and other contenders evict it from there.
/// The contender then gets one untimed call before each batch.
const CACHED: Duration = Duration::from_millis(2);
/// The maximum number of turns. Further turns don't make the median more precise.
const MOST_TURNS: usize = 401;
/// The minimum number of turns. They are completed even if they exceed the time budget, up to four times the budget.
const LEAST_TURNS: usize = 5;

/// Times the contenders alternately. Returns the median time of a call of each, in nanoseconds.
pub fn in_turns(contenders: &mut [Contender<'_>], budget: Duration) -> Vec<f64> {
    let sizes: Vec<(usize, bool)> = contenders.iter_mut().map(|run| batch(run, budget)).collect();
    let mut times = vec![Vec::new(); contenders.len()];
    let began = Instant::now();
    for turn in 0..MOST_TURNS {
        let spent = began.elapsed();
        let enough = if turn < LEAST_TURNS { budget * 4 } else { budget };
        if turn > 0 && spent > enough {
            break;
        }
        for ((run, (calls, cached)), times) in contenders.iter_mut().zip(&sizes).zip(&mut times) {
            if *cached {
                run(1);
            }
            let start = Instant::now();
            run(*calls);
            times.push(start.elapsed().as_nanos() as f64 / *calls as f64);
        }
    }
    times.into_iter().map(median).collect()
}

/// Warms up a contender. Returns the number of calls in its batches, and whether its data may be in a cache.
fn batch(run: &mut Contender<'_>, budget: Duration) -> (usize, bool) {
    let mut calls = 1;
    let began = Instant::now();
    loop {
        let start = Instant::now();
        run(calls);
        let time = start.elapsed();
        // The engine needs several calls to choose an executor.
        let warm = began.elapsed() > (budget / 8).min(Duration::from_millis(30));
        let long = time >= BATCH || calls >= MOST_CALLS;
        if long && warm {
            return (calls, time.as_secs_f64() / calls as f64 <= CACHED.as_secs_f64());
        }
        if !long {
            calls *= 2;
        }
    }
}

/// The median of the times.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    match times.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => times[n / 2],
        n => (times[n / 2 - 1] + times[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn everyone_gets_a_turn_after_a_batch_was_found() {
        let mut calls = [0usize; 2];
        let [a, b] = &mut calls;
        let times = in_turns(
            &mut [Box::new(|n| *a += std::hint::black_box(n)), Box::new(|n| *b += std::hint::black_box(n))],
            Duration::ZERO,
        );
        assert_eq!(times.len(), 2);
        assert!(times.iter().all(|t| t.is_finite()) && calls.iter().all(|&n| n > 1), "{times:?} {calls:?}");
    }
}
