//! Tests of the documentation. Commands on the pages run, or are listed with the date of their last run. Links, files and names
//! of the code exist. The examples of docs/command.md print what the page shows.
//!
//! A command on a page is run here, is part of `.ci/run`, or is a row of docs/not-in-ci.md. In each case the packages, targets,
//! features, scripts, flags and tests that the command names must exist.

#![cfg(unix)]

mod commands;
mod pages;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::Dir;
use commands::{PageCommand, fault, parse};
use pages::{Page, repository};

/// The page that lists the commands that are run by hand or in `.ci/full`, not here or in `.ci/run`.
const BY_HAND: &str = "docs/not-in-ci.md";

/// A page whose commands apply to sources that the reader has changed as the page describes.
const OF_ANOTHER_TREE: &str = "docs/add-an-op.md";

/// The pages that name modules and items of the code, by paths such as `clif::legalise` or `engine::choice`.
const OF_THE_CODE: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals.md"];

/// The maximum total number of words on the hand-written pages.
const MOST_WORDS: usize = 45_000;

/// Programs in commands on the pages that `.ci/run` does not run, each with the file that runs it.
const ELSEWHERE: [(&str, &str); 1] = [("crates/broadloom-capi/install.sh", "examples/c/Makefile")];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A directory with the repository's example data, in which the commands of a page are run.
fn directory() -> Dir {
    let dir = Dir::new();
    std::os::unix::fs::symlink(repository().join("examples"), dir.path("examples")).expect("a link");
    fs::create_dir_all(dir.path("docs/generated")).expect("a folder");
    dir.array("x.npy", &[4], &[0.5_f32, 1.0, 2.0, 3.0]);
    dir
}

#[test]
fn the_page_is_what_happens() {
    let page = read("docs/command.md");
    let dir = directory();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the end of a block");
        for example in block.split("$ ").filter(|example| !example.is_empty()) {
            let (command, expected) = example.split_once('\n').expect("a line");
            let outcome =
                dir.shell(&format!("broadloom() {{ \"$broadloom\" \"$@\"; }}; {{ {command}; }} 2>&1"));
            let printed: String =
                outcome.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            assert_eq!(printed, expected, "{command}");
            commands += 1;
        }
    }
    assert!(commands > 8, "{commands}");
}

/// The pictures on the page about loops are what its commands draw. `BROADLOOM_BLESS=1` draws them again.
#[test]
fn pictures_are_what_their_commands_draw() {
    let pages = pages::all();
    let page = pages.iter().find(|page| page.path == "docs/loops.md").expect("the page");
    let dir = directory();
    for command in page.text.lines().filter_map(|line| line.strip_prefix("$ broadloom ")) {
        let outcome = dir.shell(&format!("\"$broadloom\" {command}"));
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{command}");
    }
    let links = page.links().into_iter().filter(|link| link.text.ends_with(".png"));
    let pictures: Vec<String> = links.map(|link| format!("docs/{}", link.text)).collect();
    assert_eq!(pictures.len(), 2, "{pictures:?}");
    for picture in pictures {
        let drawn = fs::read(dir.path(&picture)).expect("a picture");
        let kept = repository().join(&picture);
        if std::env::var_os("BROADLOOM_BLESS").is_some_and(|value| value == "1") {
            fs::write(&kept, &drawn).expect("written");
        }
        let is_current = fs::read(kept).is_ok_and(|kept| kept == drawn);
        assert!(is_current, "{picture}: BROADLOOM_BLESS=1 draws it again");
    }
}

#[test]
fn every_option_is_on_the_page() {
    let page = read("docs/command.md");
    for command in ["eval", "ops"] {
        let help = Dir::new().ok(&[command, "--help"]);
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for option in words.filter(|word| word.starts_with("--") && *word != "--help") {
            assert!(page.contains(option), "{command} {option}");
        }
    }
}

/// A command on a page.
struct FoundCommand {
    place: String,
    command: PageCommand,
    is_block: bool,
}

fn found(pages: &[Page]) -> Vec<FoundCommand> {
    let mut all = Vec::new();
    for page in pages {
        for block in page.blocks() {
            let prompts = block.lines.iter().any(|line| line.starts_with("$ "));
            let is_code = ["text", "console", "sh"].contains(&block.language);
            for (i, line) in block.lines.iter().enumerate().filter(|_| is_code) {
                let command = parse(line).filter(|_| !prompts || line.starts_with("$ "));
                let place = format!("{}:{}", page.path, block.line + i);
                all.extend(command.map(|command| FoundCommand { place, command, is_block: true }));
            }
        }
        for span in page.code() {
            let place = format!("{}:{}", page.path, span.line);
            all.extend(parse(&span.text).map(|command| FoundCommand { place, command, is_block: false }));
        }
    }
    all
}

/// The words of a command in a normal form. The profile is omitted, and so is the package if the command runs a program,
/// because the program's name implies the package.
fn plain(command: &PageCommand) -> Vec<&str> {
    let is_run = command.words.get(1).is_some_and(|word| word == "run");
    let mut words: Vec<&str> =
        command.words.iter().map(|word| &**word).filter(|word| *word != "--release").collect();
    if let Some(at) = words.iter().position(|word| is_run && *word == "-p") {
        words.drain(at..(at + 2).min(words.len()));
    }
    words
}

/// Whether `.ci/run` contains the command, or a longer command that begins with it.
fn is_in_ci(command: &PageCommand, ci: &[PageCommand]) -> bool {
    let words = plain(command);
    // These programs are run by their own tests, and `fault` has checked the flags.
    let is_tested = |word: &&str| ["broadloom-fuzz", "broadloom-bench"].contains(word);
    if words.first().is_some_and(is_tested) || words.get(3).is_some_and(is_tested) && words[1] == "run" {
        return true;
    }
    if words == [".ci/run"] || words[0] == ".ci/full" || ci.iter().any(|line| plain(line).starts_with(&words))
    {
        return true;
    }
    // `cargo test --workspace` runs every test with each package's default features, and clippy checks all
    // tests.
    let is_test =
        |words: &[&str]| words.starts_with(&["cargo", "test"]) && !words.contains(&"--no-default-features");
    let is_tested_with = |line: &&PageCommand| {
        let line = plain(line);
        is_test(&line) && after("-p", &line) == after("-p", &words) && {
            let there: Vec<&str> = after("--features", &line).iter().flat_map(|all| all.split(',')).collect();
            after("--features", &words)
                .iter()
                .flat_map(|all| all.split(','))
                .all(|feature| there.contains(&feature))
        }
    };
    let is_default = !words.contains(&"--features");
    words.starts_with(&["cargo", "check"])
        || is_test(&words) && (is_default || ci.iter().any(|line| is_tested_with(&line)))
}

/// The word after a flag.
fn after<'w>(flag: &str, words: &[&'w str]) -> Vec<&'w str> {
    words.windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1]).collect()
}

fn ci() -> Vec<PageCommand> {
    let script = read(".ci/run").replace("\\\n", " ").replace("\"$python\"", "python");
    let commands: Vec<PageCommand> = script.lines().filter_map(parse).collect();
    assert!(commands.iter().any(|command| command.text == "cargo test --workspace"));
    commands
}

/// The arguments of `broadloom`, if the command runs it.
fn arguments(command: &PageCommand) -> Option<&str> {
    let of_cargo = ["cargo run -p broadloom-cli -- ", "cargo run --bin broadloom -- "];
    let text = &command.text;
    let own =
        || text.split_once("broadloom ").filter(|_| command.words[0] == "broadloom").map(|(_, rest)| rest);
    of_cargo.iter().find_map(|prefix| text.strip_prefix(prefix)).or_else(own)
}

/// Whether the command is on the README of an example. The example's own tests run it.
fn is_of_an_example(command: &PageCommand) -> bool {
    ["formula", "rhai"].iter().any(|example| {
        command.text.contains(&format!("-p broadloom-{example} ")) && {
            let readme = read(&format!("examples/{example}/README.md"));
            readme.lines().any(|line| line == command.text)
        }
    })
}

/// Whether the text only mentions a program's name instead of giving a command.
fn is_mention(command: &PageCommand) -> bool {
    match &*command.words[0] {
        "broadloom" | "fingerprint" => true,
        "cargo" => !command.words.iter().any(|word| word == "-p"),
        _ => command.words.len() == 1,
    }
}

/// The script that the command runs.
fn script(command: &PageCommand) -> Option<&str> {
    let folders = ["scripts/", "python/"];
    let mut words = command.words.iter().take(2).map(|word| &**word);
    words.find(|word| folders.iter().any(|folder| word.starts_with(folder)))
}

/// The commands in the two tables of [`BY_HAND`]: those that `.ci/full` runs, and those that are only run by hand.
fn by_hand() -> (Vec<PageCommand>, Vec<PageCommand>) {
    let page = read(BY_HAND);
    let (full, alone) = page.split_once("\n## By hand alone").expect("two tables");
    (rows(full), rows(alone))
}

fn rows(table: &str) -> Vec<PageCommand> {
    let rows = table.lines().filter(|row| row.starts_with("| `"));
    let parsed = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [command, _, date, commit] = cells[..] else { panic!("{row}") };
        let is_date = date.len() == 10 && date.starts_with("202") && date.matches('-').count() == 2;
        let is_commit = commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
        assert!(is_date && is_commit || date == "not yet", "{row}: when it was last run, and the commit");
        parse(command.trim_matches('`')).unwrap_or_else(|| panic!("{row}"))
    });
    parsed.collect()
}

#[test]
fn every_command_runs_or_is_listed() {
    let (pages, ci, (full, alone)) = (pages::all(), ci(), by_hand());
    let by_hand: Vec<PageCommand> = full.iter().chain(&alone).cloned().collect();
    let (mut faults, mut listed, mut ran) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let dir = directory();
    let help = |subcommand: &str| dir.run(&[subcommand, "--help"]).stdout;
    for FoundCommand { place, command, is_block } in found(&pages) {
        if let Some(fault) = fault(&command, &help) {
            faults.push(format!("{place}: `{}`: {fault}", command.text));
            continue;
        }
        let script = script(&command);
        let is_in_ci = is_in_ci(&command, &ci);
        let exact = by_hand.iter().find(|row| row.words == command.words);
        let of_script =
            || by_hand.iter().find(|row| !is_in_ci && script.is_some() && self::script(row) == script);
        if let Some(row) = exact.or_else(of_script) {
            if !place.starts_with(BY_HAND) {
                listed.insert(row.text.clone());
            }
            if is_in_ci && !full.contains(row) {
                faults.push(format!("{BY_HAND}: `{}`: CI runs it", row.text));
            }
            continue;
        }
        let is_elsewhere =
            ELSEWHERE.iter().any(|(program, by)| command.words[0] == *program && read(by).contains(program));
        if place.starts_with(OF_ANOTHER_TREE) || is_in_ci || is_of_an_example(&command) || is_elsewhere {
            continue;
        }
        let mention = !is_block && is_mention(&command);
        match arguments(&command) {
            // Another test compares the output of these commands with the page.
            Some(_) if mention || place.starts_with("docs/command.md") => {}
            Some(arguments) => {
                ran.insert(command.text.clone());
                let outcome = dir.shell(&format!("\"$broadloom\" {arguments}"));
                if outcome.status != Some(0) {
                    faults.push(format!("{place}: `{}`: {}", command.text, outcome.stderr));
                }
            }
            None if mention => {}
            None => {
                faults.push(format!("{place}: `{}` is run by nothing, and no row of {BY_HAND}", command.text))
            }
        }
    }
    let stale = alone.iter().filter(|row| !listed.contains(&row.text));
    faults.extend(stale.map(|row| format!("{BY_HAND}: no page has `{}`", row.text)));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran.len() >= 2, "{ran:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages::all();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for page in &pages {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in page.links().into_iter().filter(|link| !link.text.contains("://")) {
            let (file, anchor) = link.text.split_once('#').unwrap_or((&link.text, ""));
            let path = if file.is_empty() {
                repository().join(&page.path)
            } else {
                repository().join(folder).join(file)
            };
            let target = path.canonicalize().ok();
            let of_target = |other: &&Page| target == repository().join(&other.path).canonicalize().ok();
            let has_anchor = || {
                pages
                    .iter()
                    .find(of_target)
                    .is_some_and(|other| other.anchors().iter().any(|other| other == anchor))
            };
            if target.is_none() || !anchor.is_empty() && !has_anchor() {
                faults.push(format!("{}:{}: {}", page.path, link.line, link.text));
            }
            checked += 1;
        }
    }
    assert!(faults.is_empty(), "no page or heading:\n{}", faults.join("\n"));
    assert!(checked > 50, "{checked}");
}

/// Checks the paths of files in the text of a page: each file exists, relative to the root, the page, or a crate.
#[test]
fn every_file_that_is_named_exists() {
    let files = pages::files();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for page in pages::all() {
        // The changelog may name files of earlier versions.
        for span in page.code().into_iter().filter(|_| page.path != "CHANGELOG.md") {
            let is_path = [".rs", ".md", ".py", ".sh", ".toml", ".json", ".c", ".h"]
                .iter()
                .any(|e| span.text.ends_with(e))
                && span.text.contains('/')
                && !span.text.contains([' ', '<', '*', '{']);
            if !is_path {
                continue;
            }
            checked += 1;
            let path = span.text.trim_start_matches("../");
            if !files.iter().any(|file| {
                file == path
                    || file.ends_with(&format!("/{path}"))
                    || file.contains(&format!("broadloom-{path}"))
                    || path.split_once('/').is_some_and(|(crate_, rest)| {
                        file.starts_with(&format!("crates/broadloom-{crate_}/"))
                            && file.ends_with(&format!("/{rest}"))
                    })
            }) {
                faults.push(format!("{}:{}: {}", page.path, span.line, span.text));
            }
        }
    }
    assert!(faults.is_empty(), "no such file:\n{}", faults.join("\n"));
    assert!(checked > 20, "{checked}");
}

/// Checks the paths of folders in the text of a page: each folder exists, relative to the root, the page, or a crate.
#[test]
fn every_folder_that_is_named_exists() {
    let files = pages::files();
    let roots =
        [".ci/", "benches/", "crates/", "docs/", "examples/", "fuzz/", "python/", "scripts/", "tests/"];
    let (mut faults, mut checked) = (Vec::new(), 0);
    for page in pages::all().into_iter().filter(|page| page.path != OF_ANOTHER_TREE) {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for span in page.code() {
            let is_plain = span.text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            // Names of build outputs are not checked.
            let is_built = ["/build", "/artifacts", "/corpus"].iter().any(|part| span.text.contains(part));
            if roots.iter().any(|root| span.text.starts_with(root)) && is_plain && !is_built {
                checked += 1;
                let exists = |from: &str| repository().join(from).join(&span.text).exists();
                let in_a_crate = |file: &String| file.contains(&format!("/{}/", span.text));
                if !exists("") && !exists(folder) && !files.iter().any(in_a_crate) {
                    faults.push(format!("{}:{}: {}", page.path, span.line, span.text));
                }
            }
        }
    }
    assert!(faults.is_empty(), "no such folder or file:\n{}", faults.join("\n"));
    assert!(checked > 20, "{checked}");
}

/// For each crate, the words of its sources and the names of its files.
fn words_of_crates() -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in pages::files().iter().filter(|file| file.ends_with(".rs")) {
        let mut parts = file.split('/');
        let (Some("crates"), Some(folder)) = (parts.next(), parts.next()) else { continue };
        let name = folder.trim_start_matches("broadloom-");
        let words = all.entry(name.to_owned()).or_default();
        words.extend(parts.map(|part| part.trim_end_matches(".rs").to_owned()));
        let text = read(file);
        let identifiers = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.extend(identifiers.map(str::to_owned));
    }
    all
}

/// Checks paths in the code, such as `clif::legalise` or `graph::Semantics`: each segment is a name in the crate with which the
/// path begins, or in any crate.
#[test]
fn every_item_that_is_named_exists() {
    let crates = words_of_crates();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for page in pages::all().iter().filter(|page| OF_THE_CODE.contains(&&*page.path)) {
        for span in page.code() {
            let is_path = span.text.contains("::")
                && span.text.chars().all(|c| c.is_alphanumeric() || "_:".contains(c));
            if !is_path || span.text.starts_with("std::") {
                continue;
            }
            checked += 1;
            let segments: Vec<&str> = span.text.split("::").collect();
            let of_crate = crates.get(segments[0].trim_start_matches("broadloom_"));
            let has = |words: &BTreeSet<String>| segments.iter().all(|segment| words.contains(*segment));
            let is_known = match of_crate {
                Some(words) => segments[1..].iter().all(|segment| words.contains(*segment)),
                None => crates.values().any(has),
            };
            if !is_known {
                faults.push(format!("{}:{}: {}", page.path, span.line, span.text));
            }
        }
    }
    assert!(faults.is_empty(), "no such module or item:\n{}", faults.join("\n"));
    assert!(checked > 40, "{checked}");
}

/// Each generated page names the command that generates it. The hand-written pages are within the limit on words.
#[test]
fn generated_pages_name_their_command_and_the_others_are_short() {
    let mut words = 0;
    for page in pages::all() {
        if page.path.starts_with("docs/generated/") {
            let named = page.code().iter().any(|span| parse(&span.text).is_some())
                || page.blocks().iter().any(|block| block.lines.iter().any(|line| parse(line).is_some()))
                || page.text.contains("<!-- Made by `");
            assert!(named, "{}: no command", page.path);
        } else if !page.path.starts_with("examples/") && !page.path.starts_with("python/") {
            words += page.text.split_whitespace().count();
        }
    }
    assert!(words <= MOST_WORDS, "{words} words are written by hand, of {MOST_WORDS}");
}

/// The summary on the performance page contains the means of the generated tables.
#[test]
fn the_summary_of_performance_has_the_means() {
    let (tables, page) = (read("docs/generated/performance.md"), read("docs/performance.md"));
    for peers in ["keeps IEEE's arithmetic", "gcc -ffast-math"] {
        let lines = tables.lines().filter(|line| line.starts_with("- 1e") && line.contains(peers));
        let means: Vec<&str> = lines.filter_map(|line| line.split(": ").nth(1)?.split(' ').next()).collect();
        let [a, b, c, d] = means[..] else { panic!("{means:?}") };
        let shown = format!("{a} and {b} with AVX-512, {c} and {d} with AVX2");
        assert!(page.contains(&shown), "{shown}");
    }
}

/// The last column of the crate table in ARCHITECTURE.md equals the dependencies in the manifests.
#[test]
fn the_table_of_crates_has_their_dependencies() {
    let page = read("ARCHITECTURE.md");
    let mut checked = 0;
    for row in page.lines().filter(|line| line.starts_with("| `broadloom")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, stated] = cells[..] else { panic!("{row}") };
        let name = name.trim_matches('`');
        let folder = if name == "broadloom-python" { "python".to_owned() } else { format!("crates/{name}") };
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let (_, section) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section.lines().filter_map(|line| line.split([' ', '.', '=']).next());
        let mut used: Vec<&str> = names.filter(|name| name.starts_with("broadloom")).collect();
        used.iter_mut().for_each(|name| *name = name.trim_start_matches("broadloom-"));
        used.sort_unstable();
        let stated: Vec<&str> = stated.split(", ").filter(|name| *name != "–").collect();
        assert_eq!(stated, used, "{name}");
        checked += 1;
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn the_page_of_mutations_has_their_numbers() {
    let count = read("scripts/mutations.toml").lines().filter(|line| *line == "[[mutation]]").count();
    let page = read("docs/generated/mutations.md");
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && line.contains(" | `")).collect();
    let again = "python3 scripts/mutations.py --list --write docs/generated/mutations.md";
    assert_eq!(rows.len(), count, "rows of docs/generated/mutations.md; {again}");
    let not_run = rows.iter().filter(|row| row.contains("| not run")).count();
    let run = count - not_run;
    for number in
        [format!("lists {count} faults"), format!("{run} of them were run"), format!("{not_run} were not")]
    {
        assert!(page.replace('\n', " ").contains(&number), "{number}");
    }
}

/// Checks, like `scripts/mutations.py --list`, that the text of each mutation occurs in its file exactly once.
#[test]
fn every_mutation_finds_its_place() {
    let list = read("scripts/mutations.toml");
    let mut faults = Vec::new();
    for mutation in list.split("[[mutation]]").skip(1) {
        let between = |from: &str, to: &str| Some(mutation.split_once(from)?.1.split_once(to)?.0);
        let place = between("file = \"", "\"").zip(between("old = '''", "'''"));
        let (file, old) = place.unwrap_or_else(|| panic!("{mutation}"));
        if !read(file).contains(old.strip_prefix('\n').unwrap_or(old)) {
            faults.push(format!("{file}: {old}"));
        }
    }
    assert!(faults.is_empty(), "not found:\n{}", faults.join("\n"));
}
