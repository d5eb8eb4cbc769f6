//! Memory pages for machine code. The kernels of a compiler take pages from chunks that several kernels share.
//!
//! A page is written before it is executable, and never afterwards. It is used for one kernel only, and a chunk is returned to
//! the system when its last kernel is freed. The kernels of a chunk therefore share the cost of a mapping (creating it, first
//! accessing it, and removing it).

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use smallvec::SmallVec;

/// The page size of every x86-64 system.
const PAGE: usize = 4096;
/// The size of a chunk in bytes, unless a kernel is larger.
const CHUNK: usize = 16 * PAGE;

/// A range of memory that was mapped by one call of the system.
struct Chunk {
    start: NonNull<u8>,
    len: usize,
    /// The number of bytes at the start of the chunk that have been handed out.
    taken: AtomicUsize,
}

// SAFETY: a chunk is an address, a length and an atomic counter; its bytes are accessed by the owners of `Pages` only.
unsafe impl Send for Chunk {}
// SAFETY: shared access reads the address and the length and updates the counter atomically; bytes belong to the owners of
// `Pages`.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Maps a chunk of whole pages, which are writable at first.
    fn new(len: usize) -> io::Result<Chunk> {
        // Where the system supports it, all pages are present from the start, without page faults.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the system's choice changes no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Chunk { start, len, taken: AtomicUsize::new(0) })
    }

    /// Hands out `len` bytes of whole pages, if that many bytes are left.
    fn take(self: &Arc<Chunk>, len: usize) -> Option<Pages> {
        let rest = |taken: usize| taken.checked_add(len).filter(|&end| end <= self.len);
        let at = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?;
        Some(Pages { chunk: self.clone(), at, len, used: 0, is_executable: false })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: unmaps the mapping of `Chunk::new`. Each `Pages` owns a reference to this chunk, so no `Pages` is left. If the
        // call fails, the memory stays mapped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Pages of a chunk that belong to one owner. They are never handed out again.
struct Pages {
    chunk: Arc<Chunk>,
    /// The offset of the pages in the chunk, in bytes.
    at: usize,
    len: usize,
    /// The number of bytes that have been allocated.
    used: usize,
    is_executable: bool,
}

impl Pages {
    /// Allocates `size` bytes of the pages. `None` if the pages are executable already or have too little space left.
    fn allocate(&mut self, size: usize, align: usize) -> Option<*mut u8> {
        let at = self.used.checked_next_multiple_of(align)?;
        let end = at.checked_add(size).filter(|&end| end <= self.len && !self.is_executable)?;
        self.used = end;
        // SAFETY: `take` has checked that these pages are within the chunk, and `end` does not exceed them.
        Some(unsafe { self.chunk.start.as_ptr().add(self.at + at) })
    }

    /// Makes the pages executable and no longer writable.
    fn make_executable(&mut self) -> io::Result<()> {
        if self.is_executable {
            return Ok(());
        }
        // SAFETY: these are whole pages of the chunk's mapping, which only this value owns.
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

/// The chunk from which kernels take pages. If the lock is held, perhaps by a thread that does not exist in a forked child, the
/// kernel is put into a chunk of its own, without waiting.
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
        // Instruction caches of x86-64 are coherent with writes, so no flush is needed.
        self.pages
            .iter_mut()
            .try_for_each(Pages::make_executable)
            .map_err(|err| ModuleError::Allocation { err })
    }
}

impl Drop for KernelPages {
    fn drop(&mut self) {
        // Functions of a module that is dropped without being freed may still be called, so their pages are never returned.
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
        // Nothing is added to a page that is executable.
        a.finalize(BranchProtection::None).expect("executable memory");
        let third = a.allocate(10, 64, JITMemoryKind::Executable).expect("another page");
        assert_eq!(third.addr() - first.addr(), 2 * PAGE);
        assert!(a.allocate(10, 64, JITMemoryKind::Writable).is_err());
        for mut pages in [a, b] {
            // SAFETY: no code in these pages was called, and none will be.
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
            // SAFETY: no code in these pages was called, and none will be.
            unsafe { other.free_memory() };
        }
        // The chunk is full, so new kernels take another one.
        assert_eq!(weak.strong_count(), 1);
        // SAFETY: no code in these pages was called, and none will be.
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
            // SAFETY: no code in these pages was called, and none will be.
            unsafe { pages.free_memory() };
        }
    }
}
