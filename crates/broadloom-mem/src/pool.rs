//! A bounded store of big buffers that are between two uses.
//!
//! In: buffers nobody needs any more. Out: buffers of at least the length asked for, their pages already
//! mapped.
//! Must hold: the pool never keeps more than `max_bytes`, and only memory that [`Buffer`] allocated itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::buffer::{AllocError, Buffer};

/// Smaller buffers are the allocator's business: it recycles them itself.
const MIN: usize = 64 << 10;
/// How often a held lock is tried again before the pool is passed by.
const TRIES: usize = 64;
/// A bound on the search in [`Pool::take`].
const MAX_COUNT: usize = 64;

/// A bounded store of output buffers, shared by the threads of one engine.
///
/// Fresh pages cost as much as the work of a memory-bound kernel; a buffer that comes back from here has its
/// pages.
#[derive(Debug)]
pub struct Pool {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

/// Oldest first.
#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    buffers: VecDeque<Buffer>,
}

impl Pool {
    /// An empty pool that keeps up to `max_bytes`; 0 keeps nothing.
    pub fn new(max_bytes: usize) -> Pool {
        Pool { max_bytes, kept: Mutex::default() }
    }

    /// A writable buffer of `bytes` bytes aligned to [`ALIGN`](crate::ALIGN), kept or new; what it holds is
    /// unspecified.
    ///
    /// # Errors
    /// Where nothing fits and a new buffer can't be allocated, even with everything freed that the pool keeps.
    pub fn take(&self, bytes: usize) -> Result<Buffer, AllocError> {
        if bytes >= MIN
            && let Some(mut kept) = self.lock()
        {
            let size = |b: &Buffer| b.recyclable().unwrap_or(0);
            // The tightest fit; one of more than twice the size is left for a larger request.
            let fits = |b: &Buffer| size(b) >= bytes && size(b) / 2 <= bytes;
            let best = (0..kept.buffers.len())
                .filter(|&i| fits(&kept.buffers[i]))
                .min_by_key(|&i| size(&kept.buffers[i]));
            if let Some(mut buffer) = best.and_then(|i| kept.buffers.remove(i)) {
                kept.bytes -= size(&buffer);
                buffer.resize_within(bytes);
                return Ok(buffer);
            }
        }
        Buffer::for_overwrite(bytes).or_else(|_| {
            self.clear();
            Buffer::for_overwrite(bytes)
        })
    }

    /// Hands a buffer in for later use. One that the pool can't keep is dropped; older ones make room for it.
    pub fn give(&self, buffer: Buffer) {
        let Some(bytes) = buffer.recyclable().filter(|b| (MIN..=self.max_bytes).contains(b)) else { return };
        let mut evicted = Vec::new();
        let Some(mut kept) = self.lock() else { return };
        while kept.bytes > self.max_bytes - bytes || kept.buffers.len() >= MAX_COUNT {
            let Some(oldest) = kept.buffers.pop_front() else { break };
            kept.bytes -= oldest.recyclable().unwrap_or(0);
            evicted.push(oldest);
        }
        kept.bytes += bytes;
        kept.buffers.push_back(buffer);
        drop(kept);
        // Unmapping is slow: it happens here, outside the lock.
        drop(evicted);
    }

    /// The bytes that the pool keeps now.
    pub fn bytes(&self) -> usize {
        self.lock().map_or(0, |kept| kept.bytes)
    }

    /// Drops everything that the pool keeps.
    pub fn clear(&self) {
        let kept = self.lock().map(|mut kept| std::mem::take(&mut *kept));
        drop(kept);
    }

    /// The store, unless its lock stays held: another thread may have held it when the process was forked, and then
    /// nobody releases it.
    fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        for _ in 0..TRIES {
            match self.kept.try_lock() {
                Ok(kept) => return Some(kept),
                // No code of ours panics while it holds the lock, and the state is consistent between statements.
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
        for size in [8 * M, 5 * M, 6 * M] {
            pool.give(Buffer::zeroed(size)?);
        }
        assert_eq!(pool.bytes(), 19 * M);
        let buffer = pool.take(5 * M + 1)?;
        assert_eq!((buffer.len(), pool.bytes()), (5 * M + 1, 13 * M));
        pool.give(buffer);
        assert_eq!(pool.bytes(), 19 * M, "the whole allocation comes back, not the length");
        assert_eq!(pool.take(M)?.len(), M);
        assert_eq!(pool.bytes(), 19 * M, "nothing so large for a small request");
        pool.clear();
        assert_eq!(pool.bytes(), 0);
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
        let kept =
            pool.lock().expect("free").buffers.iter().map(|b| b.recyclable().expect("ours")).sum::<usize>();
        assert_eq!(kept, pool.bytes());
        Ok(())
    }
}
