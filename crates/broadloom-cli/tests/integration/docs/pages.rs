//! Parses the repository's Markdown pages: their headings, links, code blocks and inline code. Only the Markdown syntax that
//! the pages use is supported.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A page.
pub struct Page {
    /// The page's path, relative to the root.
    pub path: String,
    pub text: String,
}

/// A fenced code block.
pub struct CodeBlock<'p> {
    /// The line number of the block's first line.
    pub line: usize,
    /// The language after the opening fence.
    pub language: &'p str,
    pub lines: Vec<&'p str>,
}

/// Inline code or a link.
pub struct InlineCode {
    /// The line number.
    pub line: usize,
    pub text: String,
}

/// All pages.
pub fn all() -> Vec<Page> {
    let root = repository();
    let mut paths = Vec::new();
    for folder in ["", "docs", "docs/generated", "docs/python", "examples/formula", "examples/rhai", "python"]
    {
        let entries = fs::read_dir(root.join(folder)).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let pages = names.filter(|name| name.ends_with(".md"));
        paths.extend(pages.map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") }));
    }
    paths.sort();
    assert!(paths.len() > 15, "{paths:?}");
    let read = |path: String| Page { text: fs::read_to_string(root.join(&path)).expect("a page"), path };
    paths.into_iter().map(read).collect()
}

impl Page {
    /// The fenced code blocks.
    pub fn blocks(&self) -> Vec<CodeBlock<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<CodeBlock<'_>> = None;
        for (i, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(_), Some(block)) => blocks.push(block),
                (Some(language), None) => open = Some(CodeBlock { line: i + 2, language, lines: Vec::new() }),
                (None, Some(mut block)) => {
                    block.lines.push(line);
                    open = Some(block);
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block without an end", self.path);
        blocks
    }

    /// The text of the page, with fenced code blocks replaced by blank lines.
    fn prose(&self) -> String {
        let mut inside = false;
        let lines = self.text.lines().map(|line| {
            let fence = line.starts_with("```");
            let keep = !inside && !fence;
            inside ^= fence;
            if keep { line } else { "" }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Inline code between single backticks. A line break in it is replaced by a blank.
    pub fn code(&self) -> Vec<InlineCode> {
        let prose = self.prose();
        let (mut spans, mut line) = (Vec::new(), 1);
        // Each paragraph, row or heading is parsed separately, so that an unpaired backtick does not affect the next one.
        for paragraph in prose.split_inclusive("\n\n") {
            let mut first = line;
            for (i, part) in paragraph.split('`').enumerate() {
                if i % 2 == 1 {
                    let words: Vec<&str> = part.split_whitespace().collect();
                    spans.push(InlineCode { line: first, text: words.join(" ") });
                }
                first += part.matches('\n').count();
            }
            line += paragraph.matches('\n').count();
        }
        spans
    }

    /// The targets of links.
    pub fn links(&self) -> Vec<InlineCode> {
        let prose = self.prose();
        let starts = prose.match_indices("](").map(|(at, _)| at + 2);
        starts
            .filter_map(|at| {
                let (target, _) = prose[at..].split_once(')')?;
                Some(InlineCode { line: 1 + prose[..at].matches('\n').count(), text: target.to_owned() })
            })
            .collect()
    }

    /// The anchors of the headings, as GitHub generates them.
    pub fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter(|line| line.trim_start_matches('#').starts_with(' '));
        let mut anchors = Vec::new();
        for heading in headings.filter(|line| line.starts_with('#')) {
            let text = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let before = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
        }
        anchors
    }
}

/// All files below a folder of the repository, relative to the root, without build outputs.
pub fn files() -> Vec<String> {
    let root = repository();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if ["target", ".git", "build", "corpus", "artifacts"].contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(path) = path.strip_prefix(&root) {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}
