//! Hashes of results, to show that a redesign changes none of their bits.
//!
//! Two commits give the same results if they print the same hashes for the same programs, and for the same arguments of every
//! function. The programs are written to a file once, as text with all elements, and both commits read that file. Changes to the
//! random generator, such as a new op, therefore don't matter. The hashes of the functions are stored in the repository, so that
//! every target can be compared with them.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use broadloom::Engine;
use broadloom_testkit::random::{Program, Size, program, with_other_values};
use clap::Parser;

mod arguments;
mod evaluate;
mod functions;
mod golden;
mod gradients;
mod hash;
mod reductions;
mod report;

use evaluate::{Executors, hashes_of_program};
use hash::Hash;

/// Hashes the results of random programs and of every function, by executor and vector width.
#[derive(Parser)]
#[command(name = "fingerprint", max_term_width = 110)]
enum Command {
    /// Writes random programs with all their elements to a file.
    WritePrograms {
        /// The file.
        file: PathBuf,
        /// The number of programs.
        #[arg(long, default_value_t = 100_000)]
        programs: u64,
        /// The seed of the first program; the other programs have the seeds after it.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Evaluates the programs of a file; prints a line of hashes for each block of programs, and one for all.
    Programs {
        /// The file.
        file: PathBuf,
        /// The number of programs for each line.
        #[arg(long, default_value_t = 1000)]
        block: usize,
        /// Leave out this many programs at the beginning.
        #[arg(long, default_value_t = 0)]
        from: usize,
        /// Stop before the program with this number.
        #[arg(long, default_value_t = usize::MAX)]
        until: usize,
    },
    /// Evaluates every function, conversion and reduction over fixed arguments; prints a line of hashes for each, writes them
    /// to the file that every target must reproduce, or compares them with it.
    Functions(functions::FunctionsCommand),
    /// Evaluates reductions and scans over lengths, axes, layouts and bodies, on one thread and several, and in chunks; prints
    /// a line of hashes for each row, writes them to a file, or compares them with it.
    Reductions(reductions::ReductionsCommand),
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<(), String> {
    match command {
        Command::WritePrograms { file, programs, seed } => return write_programs(file, *seed, *programs),
        Command::Programs { file, block, from, until } => {
            hash_programs(open(file)?, (*block).max(1), *from..*until, &mut stdout().lock())?;
        }
        Command::Functions(command) => functions::hash_all(command, &mut stdout().lock())?,
        Command::Reductions(command) => reductions::hash_all(command, &mut stdout().lock())?,
    }
    // If nothing was compiled, every executor would have the interpreter's hashes.
    if Engine::global().compiled_kernels() == 0 {
        return Err("nothing was compiled on this target".into());
    }
    Ok(())
}

/// The program with this number. Most programs are small, with lengths around vector and tile sizes. One in 5000 has arrays of
/// tens of thousands of elements, and another has more steps than a kernel can hold. One in ten is the preceding program with
/// other values, which may share its plan and its code.
fn numbered(first: u64, number: u64) -> Program {
    let size = match number % 5000 {
        2499 => Size::Long,
        4998 => Size::Large,
        _ => Size::Small,
    };
    match number % 10 {
        9 => with_other_values(&numbered(first, number - 1), number),
        _ => program(first + number, size),
    }
}

fn write_programs(path: &Path, first: u64, programs: u64) -> Result<(), String> {
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        for number in 0..programs {
            // Programs are separated by empty lines, which their texts do not contain.
            writeln!(file, "{}", numbered(first, number))?;
        }
        file.flush()
    });
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn open(path: &Path) -> Result<BufReader<File>, String> {
    File::open(path).map(BufReader::new).map_err(|error| format!("{}: {error}", path.display()))
}

/// Prints hashes for the programs in a file.
fn hash_programs(
    mut file: impl BufRead,
    block: usize,
    range: std::ops::Range<usize>,
    out: &mut impl Write,
) -> Result<(), String> {
    let executors = Executors::of_target();
    let (mut all, mut part) = (vec![Hash::new(); executors.count()], vec![Hash::new(); executors.count()]);
    let (mut number, mut differing) = (0, 0);
    let told = |label: &str, hashes: &[Hash], out: &mut dyn Write| {
        writeln!(out, "{label} {}", executors.line(hashes)).map_err(|error| error.to_string())
    };
    while let Some(text) = next_text(&mut file).map_err(|error| error.to_string())? {
        if number >= range.end {
            break;
        }
        if number >= range.start {
            let program: Program = text.parse().map_err(|error| format!("program {number}: {error}"))?;
            let hashes = hashes_of_program(&program, &executors, number);
            if hashes.iter().any(|hash| *hash != hashes[0]) {
                eprintln!("program {number}: {}", executors.line(&hashes));
                differing += 1;
            }
            for (hash, total) in hashes.iter().zip(part.iter_mut().zip(&mut all)) {
                total.0.word(hash.bits());
                total.1.word(hash.bits());
            }
        }
        number += 1;
        if number % block == 0 && number > range.start {
            told(&format!("{:06}..{number:06}", number - block), &part, out)?;
            part.fill(Hash::new());
        }
    }
    told(&format!("all {number}"), &all, out)?;
    if differing > 0 { Err(format!("executors differ over {differing} programs")) } else { Ok(()) }
}

/// The lines up to the next empty line; `None` at the end of the file.
fn next_text(file: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        let before = text.len();
        let read = file.read_line(&mut text)?;
        if read == 0 || text[before..].trim_end().is_empty() {
            return Ok(Some(text).filter(|text| !text.trim_end().is_empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        let mut out = Vec::new();
        hash_programs(text.as_bytes(), 1, 0..usize::MAX, &mut out).expect("equal executors");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn another_element_changes_the_line_of_its_program_and_the_last() {
        let ordinary = "x: float32[3] = [1.0, 2.0, 3.0]\nreturn -x\n\n";
        let next_float = ordinary.replace("3.0]", "3.0000002]");
        let (first, second) =
            (printed(&ordinary.repeat(3)), printed(&[ordinary, &next_float, ordinary].concat()));
        let same: Vec<bool> = first.lines().zip(second.lines()).map(|(a, b)| a == b).collect();
        assert_eq!(same, [true, false, true, false], "{first}{second}");
    }

    #[test]
    fn shapes_dtypes_failures_and_the_bits_of_nans_count() {
        let lines = |text: &str| printed(text).lines().next().expect("a line").to_owned();
        let row = lines("x: int8[2] = [1, 0]\nreturn x\n");
        assert_ne!(row, lines("x: int8[2, 1] = [1, 0]\nreturn x\n"));
        assert_ne!(row, lines("x: uint8[2] = [1, 0]\nreturn x\n"));
        assert_ne!(row, lines("int_division error\nx: int8[2] = [1, 0]\nreturn x // x\n"));
        let nan = lines("x: float64[2] = [nan, 1.0]\nreturn x\n");
        assert_eq!(nan, lines("x: float64[2] = [nan, 1.0]\nreturn -(-x)\n"));
        assert_ne!(nan, lines("x: float64[2] = [nan, -1.0]\nreturn -x\n"));
        assert_ne!(nan, lines("x: float64[2] = [nan(0x7ff8000000000001), 1.0]\nreturn x\n"));
        assert_ne!(nan, lines("x: float64[2] = [inf, 1.0]\nreturn x\n"));
    }

    #[test]
    fn what_is_written_reads_back() {
        let path = std::env::temp_dir().join(format!("broadloom-programs-{}", std::process::id()));
        write_programs(&path, 7, 20).expect("written");
        let mut file = open(&path).expect("there");
        for number in 0..20 {
            let text = next_text(&mut file).expect("read").expect("a program");
            assert_eq!(text.parse::<Program>().expect("a program"), numbered(7, number));
        }
        assert_eq!(next_text(&mut file).expect("read"), None);
        std::fs::remove_file(&path).expect("removed");
    }
}
