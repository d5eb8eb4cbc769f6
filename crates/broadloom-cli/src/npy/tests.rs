//! Round trips, headers as written by NumPy and npyz, damaged files, and leftovers of failed writes.

use std::fs;

use std::io::Write;
use std::path::Path;

use npyz::WriterBuilder;

use super::writer::header;
use super::*;
use crate::target::Target;

/// Creates a file for an array.
fn create(
    path: &Path,
    dtype: DType,
    shape: &[usize],
    fortran: bool,
    force: bool,
) -> Result<NpyWriter<Target>, NpyError> {
    NpyWriter::new(Target::create(path, force)?, dtype, shape, fortran)
}

fn read(bytes: &[u8]) -> Result<NpyHeader, NpyError> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    read_header(&mut file)
}

/// A file of version 1.0 with this header text and data, without padding.
fn file(text: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), data].concat()
}

fn dict(descr: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
}

const SHAPES: &[&[usize]] =
    &[&[], &[0], &[1], &[7], &[2, 3], &[2, 0, 3], &[1, 4, 1, 2], &[3, 1, 2, 1, 1, 1, 1]];

#[test]
fn round_trips() -> Result<(), NpyError> {
    let dir = tempfile::tempdir()?;
    for (&dtype, &shape) in DType::ALL.iter().flat_map(|dtype| SHAPES.iter().map(move |shape| (dtype, shape)))
    {
        for fortran in [false, true] {
            let path = dir.path().join(format!("{dtype}-{shape:?}-{fortran}.npy"));
            let data: Vec<u8> =
                (0..shape.iter().product::<usize>() * dtype.size()).map(|i| i as u8).collect();
            let mut writer = create(&path, dtype, shape, fortran, false)?;
            data.chunks(5).try_for_each(|chunk| writer.write(chunk))?;
            assert!(!path.exists());
            writer.finish()?.finish()?;
            let header = read_header(&mut File::open(&path)?)?;
            let expected = NpyHeader {
                dtype,
                shape: shape.to_vec(),
                fortran,
                data_offset: header.data_offset,
                big_endian: false,
            };
            assert_eq!(header, expected);
            assert_eq!((header.data_offset % 64, header.data_len()), (0, data.len() as u64));
            let bytes = fs::read(&path)?;
            assert_eq!(&bytes[header.data_offset as usize..], data);

            // npyz reads the file with the same result, and a file that npyz writes is read with the same
            // result.
            let npyz = npyz::NpyHeader::from_reader(bytes.as_slice())?;
            assert_eq!(npyz.shape(), shape.iter().map(|&n| n as u64).collect::<Vec<_>>());
            assert_eq!(npyz.order() == npyz::Order::Fortran, fortran);
            assert_eq!(npyz.dtype().descr(), format!("'{}'", descr_of(dtype)));
            let other = npyz::WriteOptions::new_header_only()
                .dtype(npyz.dtype())
                .shape(npyz.shape())
                .order(npyz.order())
                .writer(Vec::new())
                .write_header_only()?;
            let data_offset = other.len() as u64;
            assert_eq!(read(&[other, data].concat())?, NpyHeader { data_offset, ..expected });
        }
    }
    assert_eq!(fs::read_dir(dir.path())?.count(), DType::ALL.len() * SHAPES.len() * 2);
    Ok(())
}

#[test]
fn another_reader_sees_the_same_elements() -> Result<(), NpyError> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("x.npy");
    let values = [1.5f64, -0.0, f64::MIN_POSITIVE];
    let mut writer = create(&path, DType::Float64, &[3], false, false)?;
    values.iter().try_for_each(|value| writer.write(&value.to_le_bytes()))?;
    writer.finish()?.finish()?;
    assert_eq!(npyz::NpyFile::new(File::open(&path)?)?.into_vec::<f64>()?, values);
    Ok(())
}

#[test]
fn headers_are_numpys() -> Result<(), NpyError> {
    // A dtype, shape and order, and what NumPy 2.4.6 writes for them: the offset of the data, and the
    // header's text without padding.
    type Row<'a> = (DType, &'a [usize], bool, usize, &'a str);
    let rows: &[Row<'_>] = &[
        (DType::Int64, &[3], false, 128, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"),
        (DType::Bool, &[], false, 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }"),
        (DType::Float16, &[2, 3], true, 128, "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }"),
        (
            DType::Int8,
            &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
            false,
            192,
            "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0), }",
        ),
        (
            DType::Int8,
            &[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            false,
            128,
            "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
        ),
    ];
    for (dtype, shape, fortran, length, text) in rows {
        let header = header(*dtype, shape, *fortran)?;
        let prefix = [b"\x93NUMPY\x01\x00", &(*length as u16 - 10).to_le_bytes()[..]].concat();
        assert!(header.starts_with(&prefix) && header.ends_with(b" \n"), "{text}");
        assert_eq!((header.len(), header[10..].trim_ascii_end()), (*length, text.as_bytes()));
    }
    assert!(matches!(header(DType::Int8, &[1; 30_000], false), Err(NpyError::TooLarge(_))));
    Ok(())
}

#[test]
fn descriptors() {
    let native = cfg!(target_endian = "big");
    let good = [
        ("'|b1'", DType::Bool, false),
        ("'|i1'", DType::Int8, false),
        ("'>i1'", DType::Int8, false),
        ("'<i2'", DType::Int16, false),
        ("'>i2'", DType::Int16, true),
        ("'=u4'", DType::UInt32, native),
        ("'|u8'", DType::UInt64, native),
        ("'f8'", DType::Float64, native),
        ("\"<f2\"", DType::Float16, false),
        ("'>f4'", DType::Float32, true),
    ];
    for (descr, dtype, big_endian) in good {
        let header =
            read(&file(&dict(descr, "(1,)"), &[0; 8])).unwrap_or_else(|error| panic!("{descr}: {error}"));
        assert_eq!((header.dtype, header.big_endian), (dtype, big_endian), "{descr}");
    }
    let bad = [
        ("'|O'", "'|O' (Python objects)"),
        ("'<c16'", "'<c16' (complex numbers)"),
        ("'|S5'", "'|S5' (byte strings)"),
        ("'<U3'", "'<U3' (strings)"),
        ("'<M8[ns]'", "'<M8[ns]' (dates and times)"),
        ("'<m8[D]'", "'<m8[D]' (time differences)"),
        ("'|V8'", "'|V8' (raw bytes)"),
        ("'<f16'", "'<f16' (floats of another size)"),
        ("'<i3'", "'<i3' (integers of another size)"),
        ("''", "'' (not a type)"),
        ("'<'", "'<' (not a type)"),
        ("'x'", "'x' (not a type that is known)"),
        ("'f08'", "'f08' (floats of another size)"),
        ("'\n'", "'\\n' (not a type that is known)"),
        (
            "[('a', '<i4'), ('b)', '<f8', (2,)), ('c', '|u1')]",
            "[('a', '<i4'), ('b)', '<f8', (2,)), ('c'… (structured)",
        ),
    ];
    for (descr, message) in bad {
        let error = read(&file(&dict(descr, "(1,)"), &[0; 8])).expect_err(descr);
        let error = error.to_string();
        assert!(error.starts_with(&format!("elements of type {message} are not supported")), "{error}");
    }
}

#[test]
fn header_texts() {
    let good: [(&str, &[usize]); 7] = [
        ("{'descr':'|u1','fortran_order':False,'shape':()}", &[]),
        ("{'shape': (2, 3), 'fortran_order': False, 'descr': '|u1'}  \n", &[2, 3]),
        (" { \"descr\" : '|u1' , 'fortran_order' : False , 'shape' : [ 4 , ] , } \n\n", &[4]),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (3L, 2L), }", &[3, 2]),
        (
            "{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 0), }",
            &[9223372036854775807, 0],
        ),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (007), }", &[7]),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 0), }", &[0, 0]),
    ];
    for (text, shape) in good {
        let header = read(&file(text, &[0; 8])).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((header.shape.as_slice(), header.data_offset), (shape, 10 + text.len() as u64), "{text}");
    }
    let bad = [
        ("", "not a dictionary"),
        ("[]", "not a dictionary"),
        ("{}", "`descr`, the type, is missing"),
        ("{'descr': '|u1', 'shape': ()}", "`fortran_order` is missing"),
        ("{'descr': '|u1', 'fortran_order': True}", "`shape` is missing"),
        ("{'descr': '|u1', 'descr': '|u1', 'shape': ()}", "a key is there twice"),
        ("{'descr': '|u1', 'order': 'C'}", "a key that is not known"),
        ("{descr: '|u1'}", "missing its quotes"),
        ("{'descr: |u1}", "missing its quotes"),
        ("{'descr\\", "missing its quotes"),
        ("{'descr' '|u1'}", "a key has no value"),
        ("{'descr': 1}", "missing its quotes"),
        ("{'descr': [[[[(", "a bracket is missing"),
        ("{'descr': '|u1' 'shape': ()}", "a comma is missing"),
        ("{'fortran_order': 0}", "neither True nor False"),
        ("{'shape': 3}", "not a tuple"),
        ("{'shape': (3, x)}", "not a tuple of integers"),
        ("{'shape': (3 4)}", "not a tuple of integers"),
        ("{'shape': (,)}", "not a tuple of integers"),
        ("{'shape': (-1,)}", "negative"),
        ("{'shape': (18446744073709551616,)}", "does not fit"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}", "do not fit"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", "do not fit"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': ()} x", "something follows"),
    ];
    for (text, message) in bad {
        let error = read(&file(text, &[0; 8])).expect_err(text);
        assert!(matches!(error, NpyError::Corrupt(_) | NpyError::TooLarge(_)), "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let deep = format!("{{'descr': {}", "[(".repeat(30_000));
    assert!(matches!(read(&file(&deep, &[])), Err(NpyError::Corrupt(_))));
}

#[test]
fn versions_and_beginnings() {
    let text = dict("'|u1'", "(2,)");
    for version in [2, 3] {
        let start = [b"\x93NUMPY", &[version, 0][..], &(text.len() as u32).to_le_bytes()].concat();
        let whole = [&start, text.as_bytes(), &[1, 2]].concat();
        assert!(read(&whole).is_ok_and(|header| header.data_offset == 12 + text.len() as u64));
        for length in 1..whole.len() {
            let error = read(&whole[..length]);
            let is_truncated =
                matches!(error, Err(NpyError::TruncatedHeader { .. } | NpyError::TruncatedData { .. }));
            assert!(is_truncated, "{version} {length}");
        }
    }
    let long = [b"\x93NUMPY\x02\x00", &[255; 4][..]].concat();
    assert!(matches!(read(&long), Err(NpyError::Corrupt("it is longer than 64 KiB"))));
    assert!(matches!(read(b"\x93NUMPY\x04\x00\x00\x00"), Err(NpyError::Version(4, 0))));
    assert!(matches!(read(b"\x93NUMPY\x01\x01\x00\x00"), Err(NpyError::Version(1, 1))));
    for other in [&b""[..], b"PK\x03\x04", b"\x93NUMPX\x01\x00", b"NUMPY\x01\x00\x00\x00"] {
        assert!(matches!(read(other), Err(NpyError::NotNpy(_))), "{other:?}");
    }
}

#[test]
fn every_truncation_is_found() {
    let data: Vec<u8> = (0..24).collect();
    let whole = [header(DType::Int32, &[2, 3], false).expect("small"), data].concat();
    assert!(read(&whole).is_ok());
    for length in 1..whole.len() {
        match read(&whole[..length]) {
            Err(NpyError::TruncatedHeader { expected, missing }) => {
                assert_eq!(expected - missing, length as u64);
                assert!(length < 128 && (expected == 10 || expected == 128), "{length}");
            }
            Err(NpyError::TruncatedData { what, expected, missing }) => {
                assert_eq!((&*what, expected, 128 + expected - missing), ("int32[2,3]", 24, length as u64));
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn corruption_never_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |n: usize| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    };
    let whole = [header(DType::Float64, &[2, 3, 1], true).expect("small"), vec![0; 48]].concat();
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + below(4) {
            // Most of the changed bytes are in the header, and most of the new bytes have a meaning there.
            let range = if below(4) == 0 { bytes.len() } else { 75 };
            let at = below(range);
            bytes[at] = match below(3) {
                0 => below(256) as u8,
                _ => b"0123456789'(){}[],:-L<>=|biufOUTF \\\n"[below(36)],
            };
        }
        match read(&bytes) {
            Ok(header) => {
                assert!(header.data_offset + header.data_len() <= bytes.len() as u64);
                good += 1;
            }
            Err(error) => bad += error.to_string().len().min(1),
        }
    }
    assert!(good > 300 && bad > 1000, "{good} {bad}");
}

#[test]
fn unfinished_files() -> Result<(), NpyError> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("x.npy");
    let begin = |force| create(&path, DType::UInt8, &[2], false, force);

    // No file remains if the writer was not finished, or was given too many or too few bytes.
    begin(false)?.write(b"a")?;
    assert!(matches!(begin(false)?.write(b"abc"), Err(NpyError::WrongLength { expected: 2, written: 3 })));
    let mut writer = begin(false)?;
    writer.write(b"a")?;
    assert!(matches!(writer.finish(), Err(NpyError::WrongLength { expected: 2, written: 1 })));
    assert_eq!(fs::read_dir(dir.path())?.count(), 0);

    let mut writer = begin(false)?;
    writer.write(b"ab")?;
    writer.finish()?.finish()?;
    assert!(fs::read(&path)?.ends_with(b"\nab"));
    assert!(matches!(begin(false), Err(NpyError::Target(TargetError::Exists(found))) if found == path));
    assert!(begin(true).is_ok());
    let huge = create(&path, DType::Int64, &[usize::MAX / 8], false, true);
    assert!(matches!(huge, Err(NpyError::TooLarge(_))));
    assert_eq!(fs::read_dir(dir.path())?.count(), 1);
    Ok(())
}
