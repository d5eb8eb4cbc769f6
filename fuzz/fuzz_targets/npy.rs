//! Fuzzes the command's `.npy` reader with arbitrary bytes, and its writer with arrays of any shape and dtype.
//!
//! The reader may not panic, nor allocate more than 64 KiB plus what the header's text can describe. The data of an accepted file
//! must lie within the file. A written file must read back with the same dtype, shape, order and data, and nothing may remain of
//! an unfinished file.

#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;

// `rustfmt::skip` keeps rustfmt from looking for the module's tests in this folder.
#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../crates/broadloom-cli/src/npy.rs"]
mod npy;
#[allow(dead_code)]
#[path = "../../crates/broadloom-cli/src/target.rs"]
mod target;

use npy::{NpyError, NpyHeader, NpyWriter, read_header};

/// The system allocator, with a count of the bytes that this thread has allocated.
struct Counted;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every pointer comes from `System.alloc` and goes back to `System.dealloc` with the layout unchanged, so the contract of
// `GlobalAlloc` holds because `System` keeps it. Counting only writes two `Cell`s that are const-initialised and have no
// destructor, so it neither allocates nor panics. `realloc` and `alloc_zeroed` are the trait's defaults, which call the two
// methods here.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get().wrapping_add(layout.size());
        HELD.set(held);
        MOST.set(MOST.get().max(held));
        // SAFETY: `System.alloc` requires a layout of a size other than 0. `GlobalAlloc::alloc` makes that a precondition
        // of this method too, and `layout` is passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the caller must pass a block of this allocator with its layout, and `System.alloc` above returned every block
        // of this allocator for the same layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

thread_local! {
    /// A file for the input bytes, and a directory for written files.
    static PLACE: (File, tempfile::TempDir) =
        (tempfile::tempfile().expect("a file"), tempfile::tempdir().expect("a directory"));
}

fuzz_target!(|data: &[u8]| {
    PLACE.with(|(file, dir)| {
        let mut file = file;
        file.seek(SeekFrom::Start(0)).and_then(|_| file.set_len(0)).expect("an open file");
        file.write_all(data).expect("space");
        let mut file = file.try_clone().expect("a descriptor");
        HELD.set(0);
        MOST.set(0);
        let read = read_header(&mut file);
        // The limit allows 64 KiB of text, a shape in a vector that grows by doubling (up to 12 bytes for each "1,"), and the
        // descriptor.
        assert!(MOST.get() < (65 << 10) + 16 * data.len().min(70_000), "{} bytes", MOST.get());
        match read {
            Ok(header) => check(data, &header, dir.path().join("x")),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        let left = dir.path().read_dir().expect("a directory").count();
        assert_eq!(left, 0, "files are left");
    });
});

fn check(data: &[u8], header: &NpyHeader, path: PathBuf) {
    let NpyHeader { dtype, shape, fortran, data_offset, .. } = header;
    let empty = shape.contains(&0);
    let elements = if empty { 0 } else { shape.iter().map(|&n| n as u128).product::<u128>() };
    let expected = elements * dtype.size() as u128;
    assert_eq!(u128::from(header.data_len()), expected);
    let end = u128::from(*data_offset) + expected;
    assert!(end <= data.len() as u128, "{end} of {}", data.len());
    let elements = &data[*data_offset as usize..end as usize];

    // A file with too little or too much data is rejected, and nothing remains of it.
    let mut short = NpyWriter::create(&path, *dtype, shape, *fortran, false).expect("a shape that was read");
    assert!(matches!(short.write(&[&[0], elements].concat()), Err(NpyError::WrongLength { .. })));
    if !elements.is_empty() {
        assert!(matches!(short.finish(), Err(NpyError::WrongLength { .. })));
    }
    assert!(!path.exists());

    let mut whole = NpyWriter::create(&path, *dtype, shape, *fortran, false).expect("a shape that was read");
    let (first, second) = elements.split_at(elements.len() / 2);
    whole.write(first).and_then(|()| whole.write(second)).and_then(|()| whole.finish()).expect("space");
    let mut file = File::open(&path).expect("it was finished");
    let again = read_header(&mut file).expect("it was written by us");
    let bytes = std::fs::read(&path).expect("it was finished");
    assert_eq!(
        (again.dtype, &again.shape, again.fortran, again.big_endian),
        (*dtype, shape, *fortran, false)
    );
    assert!(again.data_offset.is_multiple_of(64));
    assert_eq!(&bytes[again.data_offset as usize..], elements);
    std::fs::remove_file(&path).expect("a file");
}
