//! Buffers from every kind of owner.

use std::io::Write;
use std::sync::Arc;

use broadloom_mem::{ALIGN, AllocError, Buffer};

#[test]
fn allocated_memory_is_zero_and_aligned() -> Result<(), AllocError> {
    for bytes in [0, 1, 7, 63, 64, 65, 4096, 100_001, (4 << 20) - 1, 4 << 20, (9 << 20) + 5] {
        for mut buffer in [Buffer::zeroed(bytes)?, Buffer::for_overwrite(bytes)?] {
            assert_eq!((buffer.len(), buffer.is_empty()), (bytes, bytes == 0));
            assert_eq!(buffer.as_bytes().as_ptr().addr() % ALIGN, 0);
            let to = buffer.as_bytes_mut().expect("writable");
            assert_eq!(to.len(), bytes);
            to.fill(0xa5);
            assert!(buffer.as_bytes().iter().all(|&b| b == 0xa5));
        }
        assert!(Buffer::zeroed(bytes)?.as_bytes().iter().all(|&b| b == 0), "{bytes}");
    }
    Ok(())
}

#[test]
fn too_much_is_an_error() {
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
        assert_eq!(Buffer::zeroed(bytes).err(), Some(AllocError { bytes }));
    }
    assert_eq!(AllocError { bytes: 8 }.to_string(), "cannot allocate 8 bytes");
}

#[test]
fn a_vec_moves_in() {
    let mut vec = Vec::with_capacity(100);
    vec.extend([1.5f64, 2.5]);
    let at = vec.as_ptr().addr();
    let mut buffer = Buffer::from_vec(vec);
    assert_eq!(buffer.as_bytes().as_ptr().addr(), at, "not copied");
    buffer.typed_mut::<f64>().expect("writable")[1] = 3.0;
    assert_eq!(buffer.typed::<f64>(), Some(&[1.5, 3.0][..]));
    assert_eq!(buffer.typed::<u64>().map(|x| x[0]), Some(1.5f64.to_bits()));

    assert_eq!(Buffer::from_vec(vec![true, false, true]).typed::<bool>(), Some(&[1u8, 0, 1][..]));
    assert!(Buffer::from_vec(Vec::<u32>::new()).is_empty());
    assert!(Buffer::from_vec(Vec::<u32>::with_capacity(10)).is_empty());
    assert!(Buffer::from_vec(vec![0u8; 7]).typed::<u16>().is_none(), "no whole number of elements");
}

#[test]
fn a_shared_owner_is_read_only_and_dropped_last() {
    let owner: Arc<Vec<u8>> = Arc::new(vec![1, 2, 3]);
    let mut buffer = Buffer::from_owner(owner.clone());
    assert_eq!(Arc::strong_count(&owner), 2);
    assert_eq!(buffer.as_bytes(), [1, 2, 3]);
    assert!(!buffer.is_writable() && buffer.as_bytes_mut().is_none() && buffer.typed_mut::<u8>().is_none());
    drop(buffer);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn a_file_is_mapped() -> std::io::Result<()> {
    let mut file = tempfile::tempfile()?;
    let bytes: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
    file.write_all(&bytes)?;
    let whole = Buffer::map_file(&file, 0, bytes.len())?;
    assert!(whole.as_bytes() == bytes && !whole.is_writable());
    // Offsets in a file need not be multiples of a page.
    let tail = Buffer::map_file(&file, 128, bytes.len() - 128)?;
    assert_eq!(tail.typed::<u32>().map(|x| x[0].to_le()), Some(32));
    assert!(Buffer::map_file(&file, 40_000, 0)?.is_empty());
    for (offset, len) in
        [(0, 40_001), (40_000, 1), (39_999, 2), (u64::MAX, 1), (u64::MAX, 0), (1, usize::MAX)]
    {
        let error = Buffer::map_file(&file, offset, len).expect_err("too short");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{offset} {len}");
        assert!(error.to_string().starts_with("the file has 40000 bytes, not"), "{error}");
    }
    Ok(())
}

#[test]
fn buffers_move_between_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    let buffer = Buffer::from_vec(vec![1u32, 2]);
    check(&buffer);
    let sum =
        std::thread::spawn(move || buffer.typed::<u32>().map(|x| x[0] + x[1])).join().expect("no panic");
    assert_eq!(sum, Some(3));
}
