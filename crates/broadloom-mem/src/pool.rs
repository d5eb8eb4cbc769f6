//! A bounded free list of result buffers.
//!
//! Reusing a buffer avoids mapping fresh pages. The list never keeps more than `max_bytes` bytes, and only memory that [`Buffer`]
//! allocated itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::buffer::{AllocError, Buffer};

/// Buffers of fewer bytes are left to the allocator, which recycles memory itself; zeroing such a buffer takes no longer than a
/// search in the list.
const MIN: usize = 4 << 10;
/// Buffers of at least this size in bytes are in a separate list, so that many small ones don't evict them.
const BIG: usize = 64 << 10;
/// The number of attempts to lock the pool, after which the caller proceeds without it.
const TRIES: usize = 64;
/// The maximum numbers of small and of big buffers in their lists, which bound the search in [`Pool::take`].
const MAX_COUNT: [usize; 2] = [16, 64];

/// A bounded free list of output buffers, shared by the threads of one engine.
///
/// Writing to fresh pages for the first time costs as much as the work of a memory-bound kernel; the pages of a reused buffer are
/// already mapped.
#[derive(Debug)]
pub struct Pool {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

/// The buffers in the pool and their total size in bytes: a list of small and a list of big ones, each from the oldest to the
/// newest.
#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    buffers: [VecDeque<Buffer>; 2],
}

impl Kept {
    fn remove(&mut self, class: usize, index: usize) -> Option<Buffer> {
        let buffer = self.buffers[class].remove(index)?;
        self.bytes -= size(&buffer);
        Some(buffer)
    }
}

/// The index of the free list for buffers of this size: 0 for small buffers, 1 for big ones.
fn class(bytes: usize) -> usize {
    usize::from(bytes >= BIG)
}

fn size(buffer: &Buffer) -> usize {
    buffer.recyclable().unwrap_or(0)
}

impl Pool {
    /// An empty pool that keeps up to `max_bytes` bytes; if that is 0, it keeps nothing.
    pub fn new(max_bytes: usize) -> Pool {
        Pool { max_bytes, kept: Mutex::default() }
    }

    /// A writable buffer of `bytes` bytes aligned to [`ALIGN`](crate::ALIGN), reused or new, with unspecified contents.
    ///
    /// # Errors
    /// If no kept buffer fits and a new one can't be allocated, even after all kept buffers are freed.
    pub fn take(&self, bytes: usize) -> Result<Buffer, AllocError> {
        if bytes >= MIN
            && let Some(mut kept) = self.lock()
        {
            // The smallest buffer that is large enough is taken, unless it has more than twice the requested size: such a buffer
            // is kept for a larger request.
            let fits = |b: &Buffer| size(b) >= bytes && size(b) / 2 <= bytes;
            let buffers = kept.buffers[class(bytes)].iter().enumerate();
            let best = buffers.filter(|(_, b)| fits(b)).min_by_key(|(_, b)| size(b)).map(|(i, _)| i);
            if let Some(mut buffer) = best.and_then(|i| kept.remove(class(bytes), i)) {
                buffer.resize_within(bytes);
                return Ok(buffer);
            }
        }
        Buffer::for_overwrite(bytes).or_else(|_| {
            self.clear();
            Buffer::for_overwrite(bytes)
        })
    }

    /// Puts a buffer into the pool for later use. If there is no space, older buffers are evicted. A buffer that the pool can't
    /// keep is dropped.
    pub fn give(&self, buffer: Buffer) {
        let Some(bytes) = buffer.recyclable().filter(|b| (MIN..=self.max_bytes).contains(b)) else { return };
        let (mut evicted, own) = (Vec::new(), class(bytes));
        let Some(mut kept) = self.lock() else { return };
        if kept.buffers[own].len() >= MAX_COUNT[own] {
            evicted.extend(kept.remove(own, 0));
        }
        while kept.bytes > self.max_bytes - bytes {
            // Big buffers are evicted first, since they take the most memory.
            let Some(oldest) = kept.remove(1, 0).or_else(|| kept.remove(0, 0)) else { break };
            evicted.push(oldest);
        }
        kept.bytes += bytes;
        kept.buffers[own].push_back(buffer);
        drop(kept);
        // Unmapping is slow, so it is done outside of the lock.
        drop(evicted);
    }

    /// The total size in bytes of the buffers in the pool.
    pub fn bytes(&self) -> usize {
        self.lock().map_or(0, |kept| kept.bytes)
    }

    /// Drops all kept buffers.
    pub fn clear(&self) {
        let kept = self.lock().map(|mut kept| std::mem::take(&mut *kept));
        drop(kept);
    }

    /// Locks the pool. `None` if another thread still holds the lock after some attempts. If the process was forked while another
    /// thread held the lock, it stays locked in the child.
    fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        for _ in 0..TRIES {
            match self.kept.try_lock() {
                Ok(kept) => return Some(kept),
                // No code panics while it holds the lock, and the state is consistent between statements, so a poisoned lock can
                // be used.
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: usize = 1 << 20;

    #[test]
    fn recycles_the_tightest_fit() -> Result<(), AllocError> {
        let pool = Pool::new(64 * M);
        for size in [8 * M, 4 * M, 6 * M] {
            pool.give(Buffer::zeroed(size)?);
        }
        assert_eq!(pool.bytes(), 18 * M);
        let buffer = pool.take(5 * M + 1)?;
        assert_eq!((buffer.len(), pool.bytes()), (5 * M + 1, 12 * M));
        pool.give(buffer);
        assert_eq!(pool.bytes(), 18 * M, "the whole allocation comes back, not the length");
        assert_eq!(pool.take(M)?.len(), M);
        assert_eq!(pool.bytes(), 18 * M, "nothing so large for a small request");
        pool.clear();
        assert_eq!(pool.bytes(), 0);
        Ok(())
    }

    #[test]
    fn counts_whole_huge_pages() -> Result<(), AllocError> {
        let pool = Pool::new(16 * M);
        pool.give(Buffer::zeroed(5 * M)?);
        assert_eq!(pool.bytes(), 6 * M, "what the system has given");
        let mut buffer = pool.take(6 * M)?;
        assert_eq!((buffer.len(), pool.bytes()), (6 * M, 0), "and all of it can be used");
        assert!(buffer.as_bytes_mut().is_some_and(|bytes| bytes.iter().all(|&b| b == 0)));
        Ok(())
    }

    #[test]
    fn small_buffers_do_not_push_big_ones_out() -> Result<(), AllocError> {
        let pool = Pool::new(64 * M);
        let big = Buffer::zeroed(M)?;
        let address = big.as_bytes().as_ptr();
        pool.give(big);
        let small: Vec<Buffer> = (0..100).map(|_| Buffer::zeroed(MIN)).collect::<Result<_, _>>()?;
        let last = small[99].as_bytes().as_ptr();
        small.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(pool.bytes(), M + MAX_COUNT[0] * MIN);
        let kept = (0..MAX_COUNT[0]).map(|_| pool.take(MIN)).collect::<Result<Vec<_>, _>>()?;
        assert!(kept.iter().any(|buffer| buffer.as_bytes().as_ptr() == last), "the newest ones are kept");
        assert_eq!((pool.bytes(), pool.take(M)?.as_bytes().as_ptr()), (M, address));
        // A big buffer evicts the oldest big buffers first, then small ones.
        let pool = Pool::new(8 * M);
        for size in [MIN, 4 * M, 4 * M] {
            pool.give(Buffer::zeroed(size)?);
        }
        assert_eq!(pool.bytes(), 4 * M + MIN);
        pool.give(Buffer::zeroed(8 * M)?);
        assert_eq!(pool.bytes(), 8 * M);
        Ok(())
    }

    #[test]
    fn stays_within_its_bound() -> Result<(), AllocError> {
        let pool = Pool::new(10 * M);
        pool.give(Buffer::zeroed(11 * M)?);
        assert_eq!(pool.bytes(), 0, "too large");
        pool.give(Buffer::zeroed(100)?);
        assert_eq!(pool.bytes(), 0, "too small");
        pool.give(Buffer::from_vec(vec![0u8; M]));
        assert_eq!(pool.bytes(), 0, "not ours");
        for _ in 0..100 {
            pool.give(Buffer::zeroed(3 * M)?);
            pool.give(Buffer::zeroed(MIN)?);
            assert!(pool.bytes() <= 10 * M);
        }
        let kept = pool.lock().expect("free").buffers.iter().flatten().map(size).sum::<usize>();
        assert_eq!(kept, pool.bytes());
        Ok(())
    }
}
