//! Pages for machine code, which the kernels of a compiler take from chunks that several of them share.
//!
//! A page is written before it is executable and never again: it is handed out once, and a chunk goes back to the system when
//! no one owns code in it. What pages of its own would cost a kernel (a mapping, the first access to it, and its end) is shared
//! by the kernels of a chunk.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use smallvec::SmallVec;

/// Of every x86-64.
const PAGE: usize = 4096;
/// Bytes of a chunk, unless a kernel is larger.
const CHUNK: usize = 16 * PAGE;

/// Memory that was mapped at once.
struct Chunk {
    start: NonNull<u8>,
    len: usize,
    /// How many of its bytes, from its start on, are handed out.
    taken: AtomicUsize,
}

// SAFETY: a chunk is an address, a length and an atomic counter; its bytes are accessed by the owners of `Pages` only.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Maps a chunk of whole pages, which may be written.
    fn new(len: usize) -> io::Result<Chunk> {
        // The pages are all there from the first access on, where the system knows of that.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, wherever there is room: no memory that there is changes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Chunk { start, len, taken: AtomicUsize::new(0) })
    }

    /// Hands out this many bytes, whole pages, if there are as many left.
    fn take(self: &Arc<Chunk>, len: usize) -> Option<Pages> {
        let rest = |taken: usize| taken.checked_add(len).filter(|&end| end <= self.len);
        let at = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?;
        Some(Pages { chunk: self.clone(), at, len, used: 0, is_executable: false })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the mapping that `Chunk::new` has made; each `Pages` of it has held an owner of this chunk, so all are gone.
        // What fails leaves the memory mapped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Pages of a chunk that no one else has or gets.
struct Pages {
    chunk: Arc<Chunk>,
    /// Where they begin in the chunk.
    at: usize,
    len: usize,
    /// Bytes that are allocated.
    used: usize,
    is_executable: bool,
}

impl Pages {
    /// The address of `size` bytes in them that nothing else is in, if they may still be written and have as much room.
    fn allocate(&mut self, size: usize, align: usize) -> Option<*mut u8> {
        let at = self.used.checked_next_multiple_of(align)?;
        let end = at.checked_add(size).filter(|&end| end <= self.len && !self.is_executable)?;
        self.used = end;
        // SAFETY: `take` has checked that these pages lie in the chunk, and `end` does not exceed them.
        Some(unsafe { self.chunk.start.as_ptr().add(self.at + at) })
    }

    /// Makes them executable, and no longer writable.
    fn make_executable(&mut self) -> io::Result<()> {
        if self.is_executable {
            return Ok(());
        }
        // SAFETY: whole pages of the chunk's mapping, which have no other owner than this one.
        let done = unsafe {
            let start = self.chunk.start.as_ptr().add(self.at);
            libc::mprotect(start.cast(), self.len, libc::PROT_READ | libc::PROT_EXEC)
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        self.is_executable = true;
        Ok(())
    }
}

/// The chunk that kernels take pages from. A lock that is held, perhaps by a thread that a forked child lacks, is not waited
/// for: the kernel gets a chunk of its own.
#[derive(Default)]
pub(crate) struct CodeMemory(Mutex<Option<Arc<Chunk>>>);

impl CodeMemory {
    fn take(&self, len: usize) -> io::Result<Pages> {
        let len = len.checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?.max(PAGE);
        let mut current = self.0.try_lock().ok();
        if let Some(pages) = current.as_ref().and_then(|current| current.as_ref()?.take(len)) {
            return Ok(pages);
        }
        let shared = current.is_some() && len < CHUNK;
        let chunk = Arc::new(Chunk::new(if shared { CHUNK } else { len })?);
        let pages = chunk.take(len).ok_or(io::ErrorKind::OutOfMemory)?;
        if let (Some(current), true) = (&mut current, shared) {
            **current = Some(chunk);
        }
        Ok(pages)
    }
}

/// The pages of one kernel.
pub(crate) struct KernelPages {
    memory: Arc<CodeMemory>,
    pages: SmallVec<[Pages; 1]>,
}

impl KernelPages {
    pub fn new(memory: &Arc<CodeMemory>) -> KernelPages {
        KernelPages { memory: memory.clone(), pages: SmallVec::new() }
    }
}

impl JITMemoryProvider for KernelPages {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        if !matches!(kind, JITMemoryKind::Executable) || align > PAGE as u64 {
            return Err(io::Error::other("a kernel has code only, aligned to no more than a page"));
        }
        if let Some(address) = self.pages.last_mut().and_then(|pages| pages.allocate(size, align as usize)) {
            return Ok(address);
        }
        let mut pages = self.memory.take(size)?;
        let address = pages.allocate(size, align as usize).ok_or(io::ErrorKind::OutOfMemory)?;
        self.pages.push(pages);
        Ok(address)
    }

    unsafe fn free_memory(&mut self) {
        self.pages.clear();
    }

    fn finalize(&mut self, _: BranchProtection) -> ModuleResult<()> {
        // Instruction caches of x86-64 see what was written.
        self.pages
            .iter_mut()
            .try_for_each(Pages::make_executable)
            .map_err(|err| ModuleError::Allocation { err })
    }
}

impl Drop for KernelPages {
    fn drop(&mut self) {
        // A module that is dropped and not freed leaves functions that may be called for ever.
        std::mem::take(&mut self.pages).into_iter().for_each(std::mem::forget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(memory: &Arc<CodeMemory>, size: usize) -> (KernelPages, *mut u8) {
        let mut pages = KernelPages::new(memory);
        let address = pages.allocate(size, 64, JITMemoryKind::Executable).expect("memory");
        (pages, address)
    }

    fn chunk(pages: &KernelPages) -> &Arc<Chunk> {
        &pages.pages[0].chunk
    }

    #[test]
    fn kernels_share_a_chunk_but_no_page() {
        let memory = Arc::default();
        let (mut a, first) = code(&memory, 100);
        let second = a.allocate(100, 64, JITMemoryKind::Executable).expect("room in the page");
        assert_eq!(second.addr() - first.addr(), 128);
        let (b, other) = code(&memory, 100);
        assert!(Arc::ptr_eq(chunk(&a), chunk(&b)) && other.addr() - first.addr() == PAGE);
        // Once it is executable, nothing more goes into the page.
        a.finalize(BranchProtection::None).expect("executable memory");
        let third = a.allocate(10, 64, JITMemoryKind::Executable).expect("another page");
        assert_eq!(third.addr() - first.addr(), 2 * PAGE);
        assert!(a.allocate(10, 64, JITMemoryKind::Writable).is_err());
        for mut pages in [a, b] {
            // SAFETY: nothing was called, and nothing will be.
            unsafe { pages.free_memory() };
        }
    }

    #[test]
    fn a_chunk_lives_as_long_as_its_last_kernel() {
        let memory = Arc::default();
        let (mut kept, _) = code(&memory, 100);
        let weak = Arc::downgrade(chunk(&kept));
        for _ in 0..CHUNK / PAGE {
            let (mut other, _) = code(&memory, PAGE);
            // SAFETY: nothing was called, and nothing will be.
            unsafe { other.free_memory() };
        }
        // The chunk is full, so that new kernels take another.
        assert_eq!(weak.strong_count(), 1);
        // SAFETY: as above.
        unsafe { kept.free_memory() };
        assert_eq!(weak.strong_count(), 0);
    }

    #[test]
    fn a_large_kernel_and_one_that_finds_the_lock_held_have_chunks_of_their_own() {
        let memory: Arc<CodeMemory> = Arc::default();
        let (mut small, _) = code(&memory, 100);
        let (mut large, _) = code(&memory, 2 * CHUNK);
        assert_eq!(chunk(&large).len, 2 * CHUNK);
        let held = memory.0.lock().expect("free");
        let (mut alone, _) = code(&memory, 100);
        drop(held);
        assert_eq!(chunk(&alone).len, PAGE);
        let (mut after, _) = code(&memory, 100);
        assert!(Arc::ptr_eq(chunk(&small), chunk(&after)));
        for pages in [&mut small, &mut large, &mut alone, &mut after] {
            // SAFETY: nothing was called, and nothing will be.
            unsafe { pages.free_memory() };
        }
    }
}
