//! Signals at every stage of the command: the exit status tells which signal the command received, and no files remain.
//!
//! The effect of a signal must not depend on what the command is doing. Each case therefore only waits until the command is
//! busy, which is detected by its processor time, its output, or its open files.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Dir, header};

/// The maximum time that a test waits for an event. It does not limit how long the command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes a sparse file of zeros, which takes no disk space.
fn sparse(dir: &Dir, name: &str, shape: &[usize]) {
    let header = header("<f8", shape, false, 0);
    let mut file = File::create(dir.path(name)).expect("a file");
    file.write_all(&header).expect("a header");
    let bytes = shape.iter().product::<usize>() * 8;
    file.set_len((header.len() + bytes) as u64).expect("a sparse file");
}

fn start(dir: &Dir, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
    command.args(args).current_dir(dir.path("")).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until the process has used 0.1 s of processor time.
fn busy(child: &Child) {
    let path = format!("/proc/{}/stat", child.id());
    wait_until("the command is not busy", || {
        let stat = fs::read_to_string(&path).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        ticks(11) + ticks(12) >= 10
    });
}

/// Waits until the process has an open file of which `is` returns true, given the file's path and size.
fn opened(child: &Child, is: impl Fn(&Path, u64) -> bool) {
    let folder = format!("/proc/{}/fd", child.id());
    wait_until("the file is not open", || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| {
            let length = fs::metadata(&path).map_or(0, |found| found.len());
            fs::read_link(&path).is_ok_and(|to| is(&to, length))
        })
    });
}

fn send(child: &Child, signal: &str) {
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
}

/// Waits for the exit status, and returns it with the text on standard error.
fn ended(child: Child) -> (Option<i32>, String) {
    let began = Instant::now();
    let output = child.wait_with_output().expect("the command ends");
    // Some of these evaluations would take minutes, so the command must have stopped early.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const SIGNALS: [(&str, i32); 3] = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];

/// The bit mask of signals in the row `name` of `/proc/PID/status`.
fn mask(process: &str, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The signals that end the command. Signals that are ignored when the tests start (as under `nohup`) are left out, because the
/// command inherits that they are ignored.
fn signals() -> Vec<(&'static str, i32)> {
    let ignored = mask("self", "SigIgn");
    let signals: Vec<_> =
        SIGNALS.into_iter().filter(|(_, status)| ignored >> (status - 129) & 1 == 0).collect();
    assert!(!signals.is_empty(), "every signal is ignored");
    signals
}

/// An expression that takes minutes to evaluate on these files.
fn heavy(x: &str) -> String {
    format!("{}{x}{}", "sin(exp(cos(".repeat(15), ")))".repeat(15))
}

/// Evaluations that take minutes, with and without views, whose results go to every kind of file and to a picture.
#[test]
fn evaluations_end_and_leave_nothing() {
    let dir = Dir::new();
    sparse(&dir, "x.npy", &[1 << 28]);
    sparse(&dir, "m.npy", &[1 << 14, 1 << 14]);
    fs::write(dir.path("there.npy"), "as it was").expect("a file");
    let views = heavy("x[1:] - x[:-1]");
    let (views, plain) = (&*views, &*heavy("x"));
    let several = &*format!("y = {plain}; return a = y, b = y + x");
    let (sum, centred) = (&*format!("sum({plain})"), &*format!("y = {plain}; y - mean(y)"));
    let before = dir.names();
    for (i, args) in [
        &["eval", views, "x=x.npy", "-o", "out.npy"][..],
        &["eval", views, "x=x.npy", "-o", "there.npy", "--force"],
        &["eval", views, "x=x.npy", "--plot", "out.png"],
        &["eval", plain, "x=x.npy", "-o", "out.npy", "--plot", "out.png", "--explain-html", "x.html"],
        &["eval", "x + 1", "x=x.npy", "-o", "out.npz", "--max-bytes", "4096"],
        &["eval", "m + 1", "m=m.npy", "-o", "out.csv"],
        &["eval", several, "x=x.npy", "-o", "a=a.npy", "-o", "b=b.npy"],
        &["eval", plain, "x=x.npy", "--executor", "interp", "--plot", "out.png"],
        &["eval", sum, "x=x.npy"],
        &["eval", centred, "x=x.npy", "-o", "out.npy"],
        &["eval", "sum(exp(m), axis=0)", "m=m.npy", "--max-bytes", "64M", "-o", "out.npy"],
    ]
    .into_iter()
    .enumerate()
    {
        let signals = signals();
        let (signal, status) = signals[i % signals.len()];
        let child = start(&dir, args);
        busy(&child);
        send(&child, signal);
        // Half of the signals are sent twice; the second one has no effect.
        if i % 2 == 0 {
            send(&child, signal);
        }
        assert_eq!(ended(child), (Some(status), "error: interrupted\n".to_owned()), "{args:?}");
        assert_eq!(dir.names(), before, "{args:?}");
    }
    assert_eq!(fs::read(dir.path("there.npy")).expect("a file"), b"as it was");
}

/// An evaluation that exceeds the time limit ends like an interrupted one, but with its own exit status and message.
#[test]
fn a_time_limit_ends_evaluations_and_leaves_nothing() {
    let dir = Dir::new();
    sparse(&dir, "x.npy", &[1 << 28]);
    fs::write(dir.path("there.npy"), "as it was").expect("a file");
    let plain = &*heavy("x");
    let (sum, centred) = (&*format!("sum({plain})"), &*format!("y = {plain}; y - mean(y)"));
    let before = dir.names();
    for args in [
        &["eval", plain, "x=x.npy", "-o", "out.npy"][..],
        &["eval", plain, "x=x.npy", "-o", "there.npy", "--force"],
        &["eval", sum, "x=x.npy"],
        &["eval", centred, "x=x.npy", "-o", "out.csv"],
        &["eval", "sum(broadcast_to(x[:5], [1000000000000, 5]))", "x=x.npy"],
    ] {
        let child = start(&dir, &[args, &["--max-time", "0.4"]].concat());
        let said = "error: the evaluation exceeds the time limit of 400ms; --max-time sets the limit\n";
        assert_eq!(ended(child), (Some(124), said.to_owned()), "{args:?}");
        assert_eq!(dir.names(), before, "{args:?}");
    }
    assert_eq!(fs::read(dir.path("there.npy")).expect("a file"), b"as it was");
    let child = start(&dir, &["eval", "sum(x[:5])", "x=x.npy", "--max-time", "1000"]);
    assert_eq!(ended(child), (Some(0), String::new()), "a limit that is kept");
}

/// A command that is waiting for another process also ends at a signal.
#[test]
fn who_waits_is_interrupted() {
    let dir = Dir::new();
    let made = Command::new("mkfifo").arg(dir.path("pipe.npy")).status().expect("mkfifo runs");
    assert!(made.success());
    for args in [
        &["eval", "x", "x=-", "-o", "out.npy"][..],
        &["eval", "-f", "-", "-o", "out.npy"],
        &["eval", "x", "x=pipe.npy", "-o", "out.npy"],
    ] {
        let mut child = start(&dir, args);
        let stdin = child.stdin.take();
        let (signal, status) = signals()[0];
        // Waits until the handler is installed and the main thread sleeps.
        wait_until("the command does not wait", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
            mask(&child.id().to_string(), "SigCgt") >> (status - 129) & 1 == 1
                && stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
        });
        send(&child, signal);
        assert_eq!(ended(child).0, Some(status), "{args:?}");
        assert_eq!(dir.names(), ["pipe.npy"], "{args:?}");
        drop(stdin);
    }
}

/// Signals that are ignored when the command starts, as under `nohup`, stay ignored.
#[test]
fn ignored_signals_stay_ignored() {
    let dir = Dir::new();
    sparse(&dir, "x.npy", &[1 << 28]);
    for ignored in ["HUP", "INT"] {
        let script =
            format!("trap '' {ignored}; exec \"$broadloom\" eval '{}' x=x.npy -o out.npy", heavy("x"));
        let child = Command::new("sh")
            .args(["-c", &script])
            .env("broadloom", env!("CARGO_BIN_EXE_broadloom"))
            .current_dir(dir.path(""))
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh starts");
        busy(&child);
        // The system delivers pending signals in the order of their numbers. The ignored signals have lower numbers than
        // SIGTERM, and so arrive before it.
        send(&child, &format!("-{ignored}"));
        send(&child, "-TERM");
        assert_eq!(ended(child), (Some(143), "error: interrupted\n".to_owned()), "{ignored}");
        assert_eq!(dir.names(), ["x.npy"]);
    }
}

/// A killed process leaves no files behind; on systems without unnamed files, the next run removes the temporary file.
#[test]
fn a_killed_run_leaves_nothing() {
    let dir = Dir::new();
    sparse(&dir, "x.npy", &[1 << 28]);
    let plain = heavy("x");
    for force in [&[][..], &["--force"]] {
        let args = [&["eval", &*plain, "x=x.npy", "-o", "out.npy", "--max-bytes", "4096"], force].concat();
        let child = start(&dir, &args);
        // Waits until an output file is being written, that is, until a file in the directory other than the input is open and
        // not empty.
        opened(&child, |to, length| length > 0 && to.starts_with(dir.path("")) && !to.ends_with("x.npy"));
        send(&child, "-KILL");
        assert_eq!(ended(child).0, None);
        dir.ok(&["eval", "x[:2]", "x=x.npy", "-o", "small.npy", "--force"]);
        assert_eq!(dir.names(), ["small.npy", "x.npy"], "{force:?}");
        fs::remove_file(dir.path("small.npy")).expect("there");
    }
}

/// If the reader of a pipe closes it, the lines already printed are not lost, and the command ends without a message.
#[test]
fn a_reader_that_has_seen_enough() {
    let dir = Dir::new();
    sparse(&dir, "x.npy", &[1 << 28]);
    let mut child = start(&dir, &["eval", "x + 1", "x=x.npy", "-o", "-"]);
    let mut start_of_it = [0; 6];
    child.stdout.take().expect("a pipe").read_exact(&mut start_of_it).expect("a header");
    assert_eq!(&start_of_it, b"\x93NUMPY");
    assert_eq!(ended(child), (Some(0), String::new()));
}
