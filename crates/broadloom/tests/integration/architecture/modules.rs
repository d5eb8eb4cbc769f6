//! Finds which modules of a crate name which others, and the cycles among them.
//!
//! A module is a file; `a.rs` (or `a/mod.rs`) and `a/b.rs` are two modules. A module has an edge to another one if it
//! names a definition in it, in an import or by a path in its code. Re-exports and imports are followed to the
//! definition. `mod child;` and `pub use child::Thing;` alone are not edges, but naming `Thing` in the parent's own code
//! is one. Methods are not followed. `scripts/count_structure.py` has the same rules, and prints every edge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::tokens::{tokens, without_tests};

/// A module's path below the root file; the root file's own path is empty.
pub type Name = Vec<String>;

/// For each module, the modules that it names.
pub type Edges = BTreeMap<Name, BTreeSet<Name>>;

/// The modules of a crate, read from its root file.
pub struct Modules {
    modules: BTreeMap<Name, Module>,
    /// For each macro, the module that defines it.
    macros: BTreeMap<String, Name>,
}

/// The modules, imports, definitions and names of a file.
#[derive(Default)]
struct Module {
    children: Vec<String>,
    defined: BTreeSet<String>,
    macros: Vec<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    uses: Vec<Use>,
    /// The words in the module's code.
    named: BTreeSet<String>,
    /// The paths in the module's code.
    paths: Vec<Vec<String>>,
}

/// An import of one name, or of all names in a module.
struct Use {
    path: Vec<String>,
    name: Option<String>,
    is_public: bool,
}

const DEFINES: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

impl Module {
    fn read(source: &str) -> Module {
        let words = without_tests(&tokens(source));
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let before = |at: usize, back: usize| at.checked_sub(back).map_or("", |at| words[at]);
        let mut module = Module::default();
        // The brace depths at which modules within the file begin.
        let (mut inline, mut depth, mut at) = (Vec::new(), 0, 0);
        while at < words.len() {
            match words[at] {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inline.pop_if(|first| *first > depth);
                }
                "mod" if word(at + 2) == ";" => module.children.push(word(at + 1).to_owned()),
                "mod" if word(at + 2) == "{" => {
                    inline.push(depth + 1);
                    module.defined.insert(word(at + 1).to_owned());
                }
                "use" if is_import(before(at, 1), word(at + 1)) => {
                    let length = words[at..].iter().position(|&word| word == ";").unwrap_or(words.len() - at);
                    module.import(&words[at + 1..at + length], is_public(&words[..at]), inline.len());
                    at += length;
                    continue;
                }
                "macro_rules" => {
                    module.defined.insert(word(at + 2).to_owned());
                    module.macros.push(word(at + 2).to_owned());
                }
                defines if DEFINES.contains(&defines) && is_name(word(at + 1)) => {
                    module.defined.insert(word(at + 1).to_owned());
                }
                _ => {}
            }
            if is_name(words[at]) && !["::", "."].contains(&before(at, 1)) {
                module.named.insert(words[at].to_owned());
                let mut path = vec![words[at].to_owned()];
                while word(at + 1) == "::" && is_name(word(at + 2)) {
                    path.push(word(at + 2).to_owned());
                    at += 2;
                }
                if path.len() > 1 {
                    module.paths.push(of_file(path, inline.len()));
                }
            }
            at += 1;
        }
        module
    }

    /// Reads an import, which is a tree of paths.
    fn import(&mut self, words: &[&str], is_public: bool, inline: usize) {
        let (mut stack, mut path, mut name) = (Vec::<Vec<String>>::new(), Vec::<String>::new(), None);
        let mut renamed = false;
        for &word in words.iter().chain([&","]) {
            match word {
                "{" => {
                    stack.push(path.clone());
                    name = None;
                }
                "," | "}" => {
                    if let Some(name) = name.take() {
                        self.leaf(of_file(path, inline), name, is_public);
                    }
                    path = stack.last().cloned().unwrap_or_default();
                    if word == "}" {
                        stack.pop();
                    }
                }
                "::" => {}
                "as" => renamed = true,
                _ => {
                    if !std::mem::take(&mut renamed) {
                        path.push(word.to_owned());
                    }
                    name = Some(word.to_owned());
                }
            }
        }
    }

    fn leaf(&mut self, mut path: Vec<String>, mut name: String, is_public: bool) {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
            name = if name == "self" { path[path.len() - 1].clone() } else { name };
        }
        if name == "*" {
            path.pop();
            self.globs.push(path.clone());
            self.uses.push(Use { path, name: None, is_public });
        } else {
            self.imports.insert(name.clone(), path.clone());
            self.uses.push(Use { path, name: Some(name), is_public });
        }
    }

    fn has(&self, item: &str) -> bool {
        self.defined.contains(item)
            || self.imports.contains_key(item)
            || self.children.iter().any(|child| child == item)
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$' && word.len() > 1)
}

/// Whether `use` between these words begins an import. It can also be part of a type.
fn is_import(before: &str, after: &str) -> bool {
    ["", ";", "}", ")", "]", "{", "pub"].contains(&before) && (is_name(after) || ["::", "{"].contains(&after))
}

/// Whether words end with `pub` or `pub(…)`.
fn is_public(before: &[&str]) -> bool {
    let end = match before.last() {
        Some(&")") => before.iter().rposition(|&word| word == "(").unwrap_or(0),
        _ => before.len(),
    };
    before[..end].last() == Some(&"pub")
}

/// Converts a path that is written inside `inline` nested modules of a file to the path that the file itself would write.
fn of_file(mut path: Vec<String>, mut inline: usize) -> Vec<String> {
    while inline > 0 && path[0] == "super" && path.len() > 1 {
        path.remove(0);
        inline -= 1;
        if inline == 0 && path[0] != "super" {
            path.insert(0, "self".to_owned());
        }
    }
    path
}

impl Modules {
    /// Reads the modules of the crate with this root file.
    pub fn read(root: &Path) -> Modules {
        let mut files = vec![(root.to_path_buf(), Name::new())];
        let mut modules = Modules { modules: BTreeMap::new(), macros: BTreeMap::new() };
        while let Some((path, name)) = files.pop() {
            let module = Module::read(&std::fs::read_to_string(&path).expect("a source"));
            let is_folders = path == root || path.ends_with("mod.rs");
            let folder = if is_folders { path.with_file_name("") } else { path.with_extension("") };
            for child in &module.children {
                let places = [folder.join(format!("{child}.rs")), folder.join(child).join("mod.rs")];
                if let Some(file) = places.into_iter().find(|file| file.exists()) {
                    files.push((file, below(&name, child)));
                }
            }
            modules.insert(name, module);
        }
        modules
    }

    fn insert(&mut self, name: Name, module: Module) {
        self.macros.extend(module.macros.iter().map(|item| (item.clone(), name.clone())));
        self.modules.insert(name, module);
    }

    /// Determines which modules each module names.
    pub fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (name, module) in &self.modules {
            let is_edge =
                |u: &&Use| !u.is_public || u.name.as_ref().is_some_and(|n| module.named.contains(n));
            let imported = module.uses.iter().filter(is_edge).map(|u| &u.path);
            for path in imported.chain(&module.paths) {
                if let Some(to) = self.resolve(name, path, 20).filter(|to| to != name) {
                    edges.entry(name.clone()).or_default().insert(to);
                }
            }
        }
        edges
    }

    /// The module that contains the definition to which a path refers; `None` if it is in another crate. At most `hops`
    /// imports are followed.
    fn resolve(&self, from: &Name, path: &[String], hops: usize) -> Option<Name> {
        let mut at = from.clone();
        let mut rest = path;
        match path[0].as_str() {
            "crate" | "$crate" => (at, rest) = (Name::new(), &path[1..]),
            "self" | "super" => {
                while let Some(first) =
                    rest.first().filter(|first| ["self", "super"].contains(&first.as_str()))
                {
                    at.truncate(at.len().saturating_sub(usize::from(first == "super")));
                    rest = &rest[1..];
                }
            }
            first => {
                let module = self.modules.get(from)?;
                if !self.modules.contains_key(&below(from, first)) && !module.imports.contains_key(first) {
                    return module.defined.contains(first).then_some(at);
                }
            }
        }
        while let Some(head) = rest.first() {
            let module = self.modules.get(&at)?;
            if self.modules.contains_key(&below(&at, head)) {
                (at, rest) = (below(&at, head), &rest[1..]);
                continue;
            }
            let hops = hops.checked_sub(1)?;
            if let Some(import) = module.imports.get(head).filter(|import| **import != rest[..1]) {
                return self.resolve(&at, &[import, &rest[1..]].concat(), hops);
            }
            if !module.defined.contains(head) {
                let sources = module.globs.iter().filter_map(|glob| self.resolve(&at, glob, hops));
                let is_there =
                    |there: &Name| *there != at && self.modules.get(there).is_some_and(|m| m.has(head));
                if let Some(there) = sources.into_iter().find(is_there) {
                    return self.resolve(&there, &[&["self".to_owned()], rest].concat(), hops);
                }
                return Some(self.macros.get(head).unwrap_or(&at).clone());
            }
            return Some(at);
        }
        Some(at)
    }
}

fn below(name: &Name, child: &str) -> Name {
    [&name[..], &[child.to_owned()]].concat()
}

/// The edges between modules with the same parent, where each module includes all modules below it.
pub fn of_folders(edges: &Edges) -> Edges {
    let mut found = Edges::new();
    for (name, targets) in edges {
        for to in targets {
            if let Some(same) = name.iter().zip(to).position(|(a, b)| a != b) {
                found.entry(name[..=same].to_vec()).or_default().insert(to[..=same].to_vec());
            }
        }
    }
    found
}

/// The strongly connected components that consist of several modules.
pub fn cycles(edges: &Edges) -> BTreeSet<BTreeSet<Name>> {
    let reach: BTreeMap<&Name, BTreeSet<&Name>> = edges
        .keys()
        .map(|name| {
            let (mut seen, mut waiting) = (BTreeSet::new(), vec![name]);
            while let Some(next) = waiting.pop() {
                waiting.extend(edges.get(next).into_iter().flatten().filter(|to| seen.insert(*to)));
            }
            (name, seen)
        })
        .collect();
    let component = |name: &&Name| -> BTreeSet<Name> {
        reach[name]
            .iter()
            .filter(|to| reach.get(*to).is_some_and(|r| r.contains(name)))
            .map(|&n| n.clone())
            .collect()
    };
    reach.keys().map(component).filter(|component| !component.is_empty()).collect()
}

/// The modules that would be read from files with these names and sources.
fn of(sources: &[(&str, &str)]) -> Modules {
    let mut modules = Modules { modules: BTreeMap::new(), macros: BTreeMap::new() };
    for (name, source) in sources {
        let name = name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        modules.insert(name, Module::read(source));
    }
    modules
}

/// The cycles of files and the cycles of folders, as text.
fn found(sources: &[(&str, &str)]) -> [String; 2] {
    let edges = of(sources).edges();
    [cycles(&edges), cycles(&of_folders(&edges))].map(|cycles| super::in_words(&cycles))
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let ways = [
        ("use crate::b::B;", "use super::a::A;"),
        ("use crate::{b::{self, C}};", "fn f() { crate::a::A::new() }"),
        ("use crate::B;", "fn f(a: crate::A) {}"),
        ("use super::*; fn f() { B }", "mod inner { use super::super::a::A; }"),
        ("use crate::b as other;", "use crate::prelude::A;"),
        ("use crate::b; fn f() { b::<u8>() }", "fn f() { $crate::a::made!() }"),
    ];
    let root = "mod a; mod b; mod prelude; pub use a::A; pub use b::*;";
    for (a, b) in ways {
        let (a, b) =
            (format!("{a} pub struct A; macro_rules! made {{}}"), format!("{b} pub struct B; pub struct C;"));
        let prelude = "pub use crate::a::A;";
        let [files, folders] = found(&[("", root), ("a", &a), ("b", &b), ("prelude", prelude)]);
        let is_glob = a.contains("super::*");
        assert_eq!((&*files, &*folders), if is_glob { ("", "") } else { ("a, b", "a, b") }, "{a}\n{b}");
    }
}

#[test]
fn what_is_only_declared_re_exported_or_tested_is_no_edge() {
    let parent = "mod child; pub use child::Thing; pub(crate) use child::made; pub struct Own;";
    let child = "use super::Own; pub struct Thing; #[cfg(test)] mod tests { use crate::other::Other; }";
    let other =
        "use crate::parent::child::Thing; /* crate::parent */ const S: &str = \"crate::parent::Own\";";
    let sources = |parent| {
        [("", "mod parent; mod other;"), ("parent", parent), ("parent::child", child), ("other", other)]
    };
    assert_eq!(found(&sources(parent)), ["", ""]);
    let naming = format!("{parent} fn f() -> Thing {{}}");
    assert_eq!(found(&sources(&naming)), ["parent, parent::child", ""]);
}

#[test]
fn modules_count_with_all_that_is_below_them_among_folders() {
    let sources = [
        ("", "mod engine; mod lower;"),
        ("engine", "mod options; pub use options::Options; use crate::lower::walk;"),
        ("engine::options", "pub struct Options;"),
        ("lower", "use crate::engine::Options; pub fn walk() {}"),
    ];
    assert_eq!(found(&sources), ["", "engine, lower"]);
}
