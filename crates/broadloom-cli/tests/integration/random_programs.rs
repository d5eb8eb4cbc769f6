//! Runs random programs through `broadloom eval`, in chunks of minimum size, and compares the results with the reference.

use broadloom::{DType, IntDivision, Kind, Promotion};
use broadloom_core::graph::Semantics;
use broadloom_testkit::random::{Program, Size, Step, program};

use crate::support::Dir;

/// Runs a random program through the command, with its inputs in files and the minimum memory limit for its results.
fn through_the_command(dir: &Dir, seed: u64, program: &Program) {
    let outcome = program.run().expect("a program that types");
    let mut text = String::new();
    let mut args = vec!["eval".to_owned(), "-f".to_owned(), "p.txt".to_owned(), "--force".to_owned()];
    for (number, step) in program.steps.iter().enumerate() {
        match step {
            Step::Input(x) => {
                dir.npy(
                    &format!("s{number}.npy"),
                    &descr(x.dtype),
                    &x.shape,
                    false,
                    &bytes(x.dtype, &x.bits),
                );
                args.push(format!("s{number}=s{number}.npy"));
            }
            step => text += &format!("s{number} = {step}\n"),
        }
    }
    let mut roots = program.roots.clone();
    roots.sort_unstable();
    roots.dedup();
    let named: Vec<String> = roots.iter().map(|root| format!("r{root} = s{root}")).collect();
    text += &format!("return {}\n", named.join(", "));
    dir.write("p.txt", text.as_bytes());
    args.extend(roots.iter().flat_map(|root| ["-o".to_owned(), format!("r{root}=r{root}.npy")]));
    let Semantics { int_division, contract, .. } = program.semantics;
    let options = [
        (program.promotion == Promotion::NumPy, "--promotion=numpy"),
        (int_division == IntDivision::Error, "--int-div-zero=error"),
        (contract, "--contract"),
    ];
    args.extend(options.iter().filter(|(is_set, _)| *is_set).map(|(_, option)| (*option).to_owned()));
    let mut limit = 16;
    // The size that an error advises is sufficient for the step that failed. A later step, after a pass, may need a
    // larger size, which another error then advises.
    for _ in 0..3 {
        let limited = [&args[..], &["--max-bytes".to_owned(), limit.to_string()]].concat();
        let run = dir.run(&limited.iter().map(String::as_str).collect::<Vec<_>>());
        let told = format!("seed {seed}, --max-bytes {limit}: {}\n{program}", run.stderr);
        let advice =
            run.stderr.split_once("--max-bytes ").and_then(|(_, rest)| rest.split_once(" is enough"));
        if let Some((least, _)) = advice {
            let least = least.parse().expect("a size");
            assert!(least > limit, "{told}");
            limit = least;
            continue;
        }
        if !outcome.faults.is_empty() {
            assert_eq!(run.status, Some(1), "{told}");
            let named =
                outcome.faults.iter().any(|fault| run.stderr.starts_with(&format!("error: {fault}: ")));
            assert!(named || run.stderr.contains("warning: "), "{told}");
            return;
        }
        assert_eq!(run.status, Some(0), "{told}");
        for &root in &roots {
            let (want, got) = (&outcome.values[root], dir.read(&format!("r{root}.npy")));
            assert_eq!(got.descr, descr(want.dtype), "{told}");
            assert!(
                got.shape.iter().eq(want.shape.iter().map(|&n| n as u64).collect::<Vec<_>>().iter()),
                "{told}"
            );
            assert_eq!(got.data, bytes(want.dtype, &want.bits), "s{root} {told}");
        }
        return;
    }
    panic!("seed {seed}: no size that is advised works\n{program}");
}

fn descr(dtype: DType) -> String {
    let kind = match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Signed => 'i',
        Kind::Unsigned => 'u',
        Kind::Float => 'f',
    };
    format!("{}{kind}{}", if dtype.size() == 1 { '|' } else { '<' }, dtype.size())
}

fn bytes(dtype: DType, bits: &[u64]) -> Vec<u8> {
    bits.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size())).collect()
}

#[test]
fn random_programs_through_the_command_in_small_chunks() {
    let dir = Dir::new();
    // The first programs have reductions and views of them, which need passes.
    for text in [
        "s0: float64[2,3] = [1, 2, 3, 4, 5, 6]\ns1 = sum(s0, keepdims=true)\ns2 = s1[1:1]\ns3 = index_axis(s2, 1, 0)\nreturn s3, s1\n",
        "s0: uint8[5] = [1, 2, 3, 4, 5]\ns1 = max(s0, axis=())\ns2 = s1 << s0\ns3 = sum(s2)\nreturn s3, s2\n",
    ] {
        through_the_command(&dir, 0, &text.parse().expect("a program"));
    }
    for seed in 0..150 {
        through_the_command(&dir, seed, &program(seed, Size::Small));
    }
}
