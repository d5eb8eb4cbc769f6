//! Parses the commands on the pages, and checks that the packages, targets, features, scripts, flags and tests in them exist.

use std::fs;
use std::path::{Path, PathBuf};

use super::pages::repository;

/// A command on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageCommand {
    /// The environment variables that the command sets.
    pub variables: Vec<String>,
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// The command as written, without comments and extra blanks.
    pub text: String,
}

/// The programs that a command may begin with.
const PROGRAMS: [&str; 10] = [
    "cargo",
    "broadloom",
    "make",
    "python",
    "python3",
    "fingerprint",
    "accuracy",
    "conformance",
    "broadloom-fuzz",
    "broadloom-bench",
];

/// Parses a line as a command, if its first word is one of [`PROGRAMS`] or a script.
pub fn parse(line: &str) -> Option<PageCommand> {
    let line = line.trim().trim_start_matches("$ ");
    let line = line.find("  #").map_or(line, |at| &line[..at]).trim_end().trim_end_matches(" &");
    let mut words = split(line);
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    let variables: Vec<String> = words.drain(..variables).collect();
    let program = words.first()?;
    let is_script = [".ci/run", ".ci/full"].contains(&&**program)
        || (program.ends_with(".sh") || program.ends_with(".py"))
            && ["scripts/", "crates/"].iter().any(|folder| program.starts_with(folder));
    // `accuracy = nearest` is an option, not a call of the program `accuracy`.
    let is_option = program == "accuracy" && ["=", "fast", "nearest"].contains(&&**words.get(1)?);
    let is_program = PROGRAMS.contains(&&**program) && words.len() > 1 && !is_option;
    (is_program || is_script).then(|| PageCommand { variables, words, text: line.to_owned() })
}

/// Splits a line into words as a shell does, for the kinds of quotes that occur.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, Some(q)) if c == q => quote = None,
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A package's folder and manifest.
struct Package {
    folder: PathBuf,
    manifest: String,
}

fn package(name: &str) -> Option<Package> {
    let root = repository();
    let folders = ["crates", "examples"].map(|folder| root.join(folder));
    let folders = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    folders.map(|entry| entry.expect("an entry").path()).find_map(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        manifest
            .starts_with(&format!("[package]\nname = \"{name}\"\n"))
            .then_some(Package { folder, manifest })
    })
}

impl Package {
    /// The folder or file that contains the sources of a target.
    fn target(&self, kind: &str, name: &str) -> Option<PathBuf> {
        let root = repository();
        let places: &[PathBuf] = &match kind {
            "--bin" => vec![self.folder.join(format!("src/bin/{name}")), self.folder.join("src")],
            "--test" => vec![self.folder.join(format!("tests/{name}"))],
            "--bench" => {
                vec![self.folder.join(format!("benches/{name}")), root.join(format!("benches/{name}"))]
            }
            _ => vec![self.folder.join(format!("examples/{name}")), root.join(format!("examples/{name}"))],
        };
        let file = |place: &PathBuf| place.with_extension("rs");
        let is_main = |place: &&PathBuf| {
            // The sources of a program may be at a path in the manifest, or in a folder named after the package.
            place.join("main.rs").is_file()
                && (place.ends_with(name) || self.manifest.contains(&format!("name = \"{name}\"")))
        };
        let found = places.iter().find(is_main).cloned();
        found.or_else(|| places.iter().map(file).find(|file| file.is_file()))
    }

    /// The sources of the package's only program.
    fn command(&self) -> Option<PathBuf> {
        let folder = self.folder.join("src");
        folder.join("main.rs").is_file().then_some(folder)
    }

    /// Finds a feature that the manifest requires for a command and that `features` do not enable.
    fn lacks<'a>(&'a self, command: &str, mut features: Vec<&'a str>) -> Option<&'a str> {
        let mut at = 0;
        while let Some(&feature) = features.get(at) {
            features.extend(list(&self.manifest, &format!("\n{feature} = [")));
            at += 1;
        }
        let section = self.manifest.split(&format!("[[bin]]\nname = \"{command}\"\n")).nth(1)?;
        let required = list(section.split("\n[").next()?, "\nrequired-features = [");
        required.into_iter().find(|feature| !features.contains(feature))
    }
}

/// The strings of a list in a manifest. `beginning` is the text before the first string.
fn list<'t>(text: &'t str, beginning: &str) -> Vec<&'t str> {
    let list = text.split(beginning).nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// The text of a file, or of all files below a folder.
fn sources(place: &Path) -> String {
    if place.is_file() {
        return fs::read_to_string(place).unwrap_or_default();
    }
    let entries = fs::read_dir(place).into_iter().flatten();
    entries.map(|entry| sources(&entry.expect("an entry").path())).collect()
}

/// Whether a package has a test that this filter of `cargo test` selects. All segments but the last must be names of modules. The
/// last may be the beginning of the name of a module or function. If it is the only segment, it may be any part of such a name.
fn has_test(folder: &Path, filter: &str) -> bool {
    let sources = ["src", "tests", "benches"].map(|part| sources(&folder.join(part))).concat();
    let named = |keyword: &'static str| {
        let rest = sources.split(keyword).skip(1);
        rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
    };
    let mut segments: Vec<&str> = filter.split("::").collect();
    let last = segments.pop().unwrap_or_default();
    let matches = |name: &str| if segments.is_empty() { name.contains(last) } else { name.starts_with(last) };
    segments.iter().all(|segment| named("mod ").any(|name| name == *segment))
        && named("mod ").chain(named("fn ")).any(matches)
}

/// Whether sources accept a flag. They must contain it as literal text, or as a field of a struct from which arguments are
/// derived.
fn takes(sources: &str, flag: &str) -> bool {
    let name = flag.trim_start_matches('-');
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    sources.contains(&format!("--{name}"))
        || sources.contains(&format!("\"{name}\""))
        || sources.contains(&format!("{}:", name.replace('-', "_")))
}

/// Returns the error in a command, if there is one. `help` returns the help text of a subcommand of `broadloom`.
pub fn fault(command: &PageCommand, help: &dyn Fn(&str) -> String) -> Option<String> {
    let words = &command.words;
    let rest = &words[1..];
    let own = |rest: &[String]| -> Option<String> {
        let subcommand = rest.first().filter(|word| !word.starts_with('-'))?;
        let help = help(subcommand);
        let named: Vec<&str> = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).collect();
        let unknown = rest.iter().find(|word| is_flag(word) && !named.contains(&&***word));
        unknown.map(|flag| format!("`broadloom {subcommand}` has no {flag}"))
    };
    let variables = command.variables.iter().filter_map(|variable| variable.split_once('='));
    for (name, _) in variables.filter(|(name, _)| *name != "RUSTDOCFLAGS") {
        if !["crates", "scripts", "benches"]
            .iter()
            .any(|folder| sources(&repository().join(folder)).contains(name))
        {
            return Some(format!("nothing reads {name}"));
        }
    }
    match &*words[0] {
        "cargo" => cargo(rest, &own),
        "broadloom" => own(rest),
        "make" => make(rest),
        // `python -m MODULE` runs a program of another project.
        "python" | "python3" if rest[0] == "-m" => None,
        "python" | "python3" => script(&rest[0], &rest[1..]),
        name @ ("fingerprint" | "accuracy" | "conformance" | "broadloom-fuzz" | "broadloom-bench") => {
            let crates = ["broadloom-testkit", "broadloom-bench"].into_iter().filter_map(package);
            let place = crates.filter_map(|package| package.target("--bin", name)).next();
            let sources = place.map(|place| sources(&place)).unwrap_or_default();
            rest.iter()
                .find(|flag| is_flag(flag) && !takes(&sources, flag))
                .map(|flag| format!("{name} has no {flag}"))
        }
        name => script(name, rest),
    }
}

fn is_flag(word: &str) -> bool {
    word.starts_with("--") && word.len() > 2
}

/// Checks a script and its flags.
fn script(path: &str, rest: &[String]) -> Option<String> {
    let Ok(text) = fs::read_to_string(repository().join(path)) else {
        return Some(format!("there is no {path}"));
    };
    rest.iter().find(|flag| is_flag(flag) && !takes(&text, flag)).map(|flag| format!("{path} has no {flag}"))
}

/// Checks `make -C FOLDER TARGET…`.
fn make(rest: &[String]) -> Option<String> {
    let [flag, folder, targets @ ..] = rest else { return Some("no folder".to_owned()) };
    let text = fs::read_to_string(repository().join(folder).join("Makefile")).unwrap_or_default();
    let exists = |target: &str| target.contains('=') || text.contains(&format!("\n{target}:"));
    let missing = targets.iter().find(|target| !exists(target));
    match missing {
        Some(target) => Some(format!("no target {target}")),
        None => (flag != "-C" || text.is_empty()).then(|| format!("no Makefile in {folder}")),
    }
}

/// The packages of `crates/`.
fn all_packages() -> impl Iterator<Item = Package> {
    let folders = fs::read_dir(repository().join("crates")).expect("the crates");
    folders.filter_map(|folder| package(folder.expect("a folder").file_name().to_str()?))
}

/// Checks `cargo SUBCOMMAND …`. If the command runs `broadloom`, `own` checks its arguments.
fn cargo(rest: &[String], own: &dyn Fn(&[String]) -> Option<String>) -> Option<String> {
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let (flags, passed) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    if !["bench", "build", "check", "clippy", "doc", "install", "run", "test"].contains(&&*rest[0]) {
        return Some(format!("cargo {}?", rest[0]));
    }
    let mut packages = Vec::new();
    let mut filters: Vec<&String> =
        passed.iter().filter(|word| rest[0] == "test" && !is_flag(word)).collect();
    let (mut target, mut words) = (None, flags[1..].iter());
    let (mut command, mut given) = (None, Vec::new());
    while let Some(word) = words.next() {
        match &**word {
            "-p" => {
                let name = words.next()?;
                match package(name) {
                    Some(package) => packages.push(package),
                    None => return Some(format!("no package {name}")),
                }
            }
            "--bin" | "--test" | "--bench" | "--example" => {
                let name = words.next()?;
                // A command that runs a program need not name the package.
                if packages.is_empty() {
                    let crates = ["broadloom-cli", "broadloom-testkit", "broadloom-bench"].into_iter();
                    let has = |package: &Package| {
                        name == "broadloom" && package.command().is_some()
                            || name != "broadloom" && package.target(word, name).is_some()
                    };
                    match word.as_str() {
                        // Without `-p`, `--test` applies to every crate that has a test of this name.
                        "--test" => packages.extend(all_packages().filter(has)),
                        _ => packages.extend(crates.filter_map(package).find(has)),
                    }
                }
                target = packages.iter().find_map(|package| package.target(word, name));
                if target.is_none() {
                    return Some(format!("no {word} {name}"));
                }
                command = (word == "--bin").then_some(name);
            }
            "--features" => {
                let features = words.next()?;
                let exists = |feature: &str| {
                    let key =
                        |name: &str| packages.iter().any(|p| p.manifest.contains(&format!("\n{name} = [")));
                    feature.contains('/') || key(feature)
                };
                if let Some(feature) = features.split(',').find(|feature| !exists(feature)) {
                    return Some(format!("no feature {feature}"));
                }
                given.extend(features.split(','));
            }
            "--release"
            | "--workspace"
            | "--no-default-features"
            | "--lib"
            | "--no-fail-fast"
            | "--no-deps"
            | "--all-targets"
            | "--all-features"
            | "--path" => {}
            flag if flag.starts_with('-') => return Some(format!("cargo {flag}?")),
            _ if rest[0] == "test" => filters.push(word),
            _ => {}
        }
    }
    let is_there = |filter: &str| packages.iter().any(|package| has_test(&package.folder, filter));
    if !packages.is_empty()
        && let Some(filter) = filters.iter().find(|filter| !is_there(filter))
    {
        return Some(format!("no test {filter}"));
    }
    given.extend(Some("default").filter(|_| !flags.iter().any(|flag| flag == "--no-default-features")));
    if let (Some(package), Some(command)) = (packages.first(), command)
        && let Some(feature) = package.lacks(command, given)
    {
        return Some(format!("{command} needs the feature {feature}"));
    }
    match (&*rest[0], packages.first()) {
        ("run", Some(package)) if package.manifest.contains("\nname = \"broadloom-cli\"\n") => own(passed),
        ("run", Some(package)) => {
            let place = target.or_else(|| package.command());
            let Some(place) = place else { return Some("which command?".to_owned()) };
            let sources = sources(&place);
            passed
                .iter()
                .find(|flag| is_flag(flag) && !takes(&sources, flag))
                .map(|flag| format!("no {flag}"))
        }
        ("run", None) => Some("no package".to_owned()),
        _ => None,
    }
}
