//! A range of bytes with an owner: allocated, moved in from a `Vec`, shared, or mapped from a file.
//!
//! The bytes don't move until the buffer is dropped: `ptr` is valid for reads of `len` initialised bytes while `owner` lives, and
//! for writes if `is_writable()`, and nothing else writes to them. Large allocations are mapped from the operating system, so
//! that it can use huge pages.

use std::alloc::{self, Layout};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, io, slice};

use broadloom_math::Elem;
use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::bytes;

/// The alignment of memory that [`Buffer`] allocates: the size of a cache line, and of the widest vector register.
pub const ALIGN: usize = 64;
/// The size of a huge page on x86-64, and on aarch64 with 4 KiB pages.
const HUGE_PAGE: usize = 2 << 20;
/// The size in bytes from which buffers are mapped from the operating system, with huge pages where it
/// supports them. It is the size of 1.5 huge pages: a huge page gains nothing over small pages if less than
/// half of it is used (measured with buffers of 2.4, 4 and 8 MB).
const LARGE: usize = 3 << 20;

/// The error of an allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes")]
pub struct AllocError {
    /// The size of the request in bytes.
    pub bytes: usize,
}

/// An owner of bytes that a [`Buffer`] can share.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A range of bytes of fixed length, with its owner.
///
/// Memory allocated by [`Buffer::zeroed`] and [`Buffer::for_overwrite`] is aligned to [`ALIGN`] bytes.
///
/// ```
/// use broadloom_mem::Buffer;
///
/// let mut buffer = Buffer::zeroed(16)?;
/// buffer.typed_mut::<f32>().expect("owned").copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(buffer.typed::<f32>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
/// # Ok::<(), broadloom_mem::AllocError>(())
/// ```
pub struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    /// The number of initialised bytes from `ptr` on that may be written: the size of the allocation if this module made it,
    /// `len` for memory of a `Vec`, and 0 for read-only memory.
    capacity: usize,
    owner: Owner,
}

enum Owner {
    /// No memory: `len` and `capacity` are 0.
    None,
    /// An allocation of the global allocator, and the layout with which it is freed. `ours` tells whether this module made it,
    /// rather than a `Vec`.
    Heap { base: NonNull<u8>, layout: Layout, ours: bool },
    /// Anonymous pages. The field is never read; it keeps them mapped.
    Pages(#[allow(dead_code, reason = "keeps the pages mapped")] MmapMut),
    /// A read-only file mapping.
    File(#[allow(dead_code, reason = "keeps the file mapped")] Mmap),
    /// Bytes shared with other owners, who may be reading them.
    Shared(#[expect(dead_code, reason = "keeps the bytes alive")] SharedBytes),
}

// SAFETY: the buffer owns its memory or a share in an owner that is `Send + Sync`; no variant is tied to a thread.
unsafe impl Send for Buffer {}
// SAFETY: a `&Buffer` gives access to `&[u8]` only; writing takes `&mut Buffer`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates `bytes` zero bytes, aligned to [`ALIGN`].
    ///
    /// # Errors
    /// If the allocator or the operating system fails.
    pub fn zeroed(bytes: usize) -> Result<Buffer, AllocError> {
        let error = AllocError { bytes };
        if bytes == 0 {
            return Ok(Buffer::empty());
        }
        if bytes >= LARGE {
            return Buffer::pages(bytes).ok_or(error);
        }
        // The allocator provides lazily zeroed memory for alignments up to 16 only, and writes zeros for larger ones. So more
        // bytes are allocated, and the address is aligned here.
        let layout = Layout::from_size_align(bytes + ALIGN, 16).map_err(|_| error)?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or(error)?;
        // SAFETY: at most ALIGN − 16 of the `bytes + ALIGN` bytes are skipped.
        let ptr = unsafe { base.add(base.align_offset(ALIGN)) };
        Ok(Buffer { ptr, len: bytes, capacity: bytes, owner: Owner::Heap { base, layout, ours: true } })
    }

    /// Allocates `bytes` bytes that the caller is going to overwrite, aligned to [`ALIGN`].
    ///
    /// Their contents are unspecified but initialised: they may be read.
    ///
    /// # Errors
    /// If the allocator or the operating system fails.
    pub fn for_overwrite(bytes: usize) -> Result<Buffer, AllocError> {
        // PERF: zeroed memory costs nothing extra above the allocator's mapping threshold, and little below it.
        Buffer::zeroed(bytes)
    }

    pub(crate) const fn empty() -> Buffer {
        Buffer { ptr: NonNull::<EmptyLine>::dangling().cast(), len: 0, capacity: 0, owner: Owner::None }
    }

    /// Maps anonymous pages. The size is rounded up to whole huge pages, so that the last bytes are also in a huge page if the
    /// system supports them.
    ///
    /// Nothing is written here: a page is allocated when the computing thread first writes to it.
    fn pages(bytes: usize) -> Option<Buffer> {
        let capacity = bytes.checked_next_multiple_of(HUGE_PAGE)?;
        let mut map = MmapMut::map_anon(capacity.checked_add(HUGE_PAGE)?).ok()?;
        // If the system does not follow the advice to use huge pages, only speed is lost. Writing to pages
        // for the first time makes a memory-bound kernel take 3 × as long with pages of 4 KiB, and 1.5 × as
        // long with huge pages.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let base = NonNull::new(map.as_mut_ptr())?;
        // SAFETY: less than HUGE_PAGE bytes of a mapping of `capacity + HUGE_PAGE` are skipped.
        let ptr = unsafe { base.add(base.align_offset(HUGE_PAGE)) };
        Some(Buffer { ptr, len: bytes, capacity, owner: Owner::Pages(map) })
    }

    /// Moves the elements of a `Vec` into a buffer without copying. The buffer is aligned as the element type is.
    pub fn from_vec<T: Elem>(vec: Vec<T>) -> Buffer {
        let mut vec = ManuallyDrop::new(vec);
        let len = size_of_val(vec.as_slice());
        match (NonNull::new(vec.as_mut_ptr().cast::<u8>()), Layout::array::<T>(vec.capacity())) {
            (Some(base), Ok(layout)) if layout.size() > 0 => {
                Buffer { ptr: base, len, capacity: len, owner: Owner::Heap { base, layout, ours: false } }
            }
            // A `Vec` of capacity 0 has no memory to free. For every other `Vec` the arm above matches.
            _ => Buffer::empty(),
        }
    }

    /// Converts the buffer to a `Vec` without copying, if its memory came from a `Vec` of this element size and alignment
    /// ([`Buffer::from_vec`], [`zeroed_vec`]); else returns the buffer unchanged.
    ///
    /// ```
    /// use broadloom_mem::Buffer;
    ///
    /// let data = vec![1.0_f32, 2.0];
    /// let address = data.as_ptr();
    /// let back = Buffer::from_vec(data).into_vec::<f32>().expect("a vector of float32");
    /// assert_eq!((back.as_ptr(), &back[..]), (address, &[1.0, 2.0][..]));
    /// assert!(Buffer::zeroed(8)?.into_vec::<f32>().is_err());
    /// # Ok::<(), broadloom_mem::AllocError>(())
    /// ```
    pub fn into_vec<T: Elem<Store = T>>(self) -> Result<Vec<T>, Buffer> {
        let item = size_of::<T>();
        match self.owner {
            Owner::Heap { base, layout, ours: false }
                if layout.align() == align_of::<T>()
                    && layout.size().is_multiple_of(item)
                    && self.len.is_multiple_of(item)
                    && self.ptr == base =>
            {
                let buffer = ManuallyDrop::new(self);
                // SAFETY: the memory was allocated by the global allocator with this alignment and a size of `capacity` elements,
                // which is not 0 (`from_vec`); its first `len` bytes are initialised, and any bytes are a `T`, which is its own
                // `Store`. The buffer is not dropped, so the `Vec` is the only owner.
                Ok(unsafe {
                    Vec::from_raw_parts(base.as_ptr().cast(), buffer.len / item, layout.size() / item)
                })
            }
            _ => Err(self),
        }
    }

    /// Makes a read-only buffer of the bytes of an owner, without copying. `as_ref` is called once, and the owner lives as long
    /// as the buffer.
    pub fn from_owner(owner: SharedBytes) -> Buffer {
        // The slice is valid until `owner` is dropped or borrowed mutably. The buffer holds a shared
        // reference to the owner and gives no access to it, so neither can happen while the buffer lives.
        let bytes: &[u8] = (*owner).as_ref();
        Buffer {
            ptr: NonNull::from(bytes).cast(),
            len: bytes.len(),
            capacity: 0,
            owner: Owner::Shared(owner),
        }
    }

    /// Maps `len` bytes of a file, starting at byte `offset`, for reading.
    ///
    /// # Limits
    /// The file's length is checked here, once. If the file is truncated while the buffer lives, the effect of a read depends on
    /// the operating system (on Unix the process gets `SIGBUS`). If it is written to, reads may see old bytes, new ones or a
    /// mixture, all of which are valid elements. Read the file into memory if that is not good enough.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is too short, and any error of the operating system.
    pub fn map_file(file: &File, offset: u64, len: usize) -> io::Result<Buffer> {
        let has = file.metadata()?.len();
        if u64::try_from(len).ok().and_then(|len| offset.checked_add(len)).is_none_or(|end| end > has) {
            let words = format!("the file has {has} bytes, not {len} from byte {offset} on");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
        }
        if len == 0 {
            return Ok(Buffer::empty());
        }
        // SAFETY: the mapping is read-only and inside the file. That the file does not change is the documented limit: it can't be
        // enforced on the supported systems, and changed bytes are still valid bytes.
        let map = unsafe { MmapOptions::new().offset(offset).len(len).map(file)? };
        Ok(Buffer { ptr: NonNull::from(&map[..]).cast(), len, capacity: 0, owner: Owner::File(map) })
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether [`Buffer::as_bytes_mut`] can borrow the bytes for writing. It can't if they belong to a mapped file or a shared
    /// owner.
    pub fn is_writable(&self) -> bool {
        match self.owner {
            Owner::None | Owner::Heap { .. } | Owner::Pages(_) => true,
            Owner::File(_) | Owner::Shared(_) => false,
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: `ptr` is valid for reads of `len` initialised bytes as long as `owner` lives, which `self` holds; writers borrow
        // `self` exclusively, and so not while this borrow lives.
        unsafe { slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// The bytes for writing, if the buffer is writable.
    pub fn as_bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: `ptr` is valid for reads and writes of `len` initialised bytes if `is_writable`, as long as `owner` lives, which
        // `self` holds; `self` is borrowed exclusively, so there is no other access.
        self.is_writable().then(|| unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) })
    }

    /// The bytes as elements, or `None` if the address is not aligned for the type or the length is not a multiple of its size.
    pub fn typed<T: Elem>(&self) -> Option<&[T::Store]> {
        bytes::typed::<T>(self.as_bytes())
    }

    /// The bytes as elements for writing, or `None` if the buffer is not writable, not aligned for the type, or not a whole
    /// number of elements.
    pub fn typed_mut<T: Elem>(&mut self) -> Option<&mut [T::Store]> {
        bytes::typed_mut::<T>(self.as_bytes_mut()?)
    }

    /// The largest length in bytes that [`Buffer::resize_within`] accepts, or `None` if this module did not allocate the memory.
    pub(crate) fn recyclable(&self) -> Option<usize> {
        match self.owner {
            Owner::Heap { ours: true, .. } | Owner::Pages(_) => Some(self.capacity),
            _ => None,
        }
    }

    /// Sets the length in bytes of a recyclable buffer. The contents of bytes that are added are unspecified but initialised.
    pub(crate) fn resize_within(&mut self, len: usize) {
        assert!(self.recyclable().is_some_and(|capacity| len <= capacity), "resize beyond the allocation");
        self.len = len;
    }
}

/// Allocates a vector of zeros. A large one takes pages that the operating system clears only when they are first written.
///
/// # Errors
/// If the allocator fails.
pub fn zeroed_vec<T: Elem<Store = T>>(len: usize) -> Result<Vec<T>, AllocError> {
    let error = AllocError { bytes: len.saturating_mul(size_of::<T>()) };
    let layout = Layout::array::<T>(len).map_err(|_| error)?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout's size is not 0.
    let ptr = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or(error)?;
    // SAFETY: the memory was just allocated by the global allocator for `len` elements, all bytes zero: any bytes are a `T`, which
    // is its own `Store`.
    Ok(unsafe { Vec::from_raw_parts(ptr.as_ptr().cast(), len, len) })
}

// A panic may leave some bytes written and others not; each is still a valid byte.
impl UnwindSafe for Buffer {}
impl RefUnwindSafe for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Owner::Heap { base, layout, .. } = self.owner {
            // SAFETY: `base` came from the global allocator with this layout (`zeroed`, or the `Vec`'s own), and is freed once.
            unsafe { alloc::dealloc(base.as_ptr(), layout) }
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = match self.owner {
            Owner::None => "none",
            Owner::Heap { .. } => "heap",
            Owner::Pages(_) => "pages",
            Owner::File(_) => "file",
            Owner::Shared(_) => "shared",
        };
        f.debug_struct("Buffer").field("len", &self.len).field("owner", &owner).finish()
    }
}

/// A value with the alignment [`ALIGN`], to which empty buffers point.
#[repr(align(64))]
struct EmptyLine;

const _: () = assert!(align_of::<EmptyLine>() == ALIGN);
