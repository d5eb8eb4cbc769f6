//! Advice for mistakes in the command line: a name without a file, or files whose shapes do not fit together.

use broadloom::ErrorKind;
use broadloom::text::{Program, Span, TextError};

/// An input with its file.
#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    /// The name, the file, and the file's type and shape, for messages.
    pub described: String,
}

/// The number of files that a message lists.
const LISTED: usize = 4;

/// The error for inputs that the program declares but for which no file is given. A name that is only used may be misspelt, which
/// typing finds.
pub fn undeclared(program: &Program, given: &[Given]) -> Option<TextError> {
    let is_given = |name: &str| given.iter().any(|given| given.name == name);
    let missing = program.inputs().find(|input| input.dtype().is_some() && !is_given(input.name()))?;
    let message = format!("no file is given for `{}`", missing.name());
    let error = TextError::new(ErrorKind::Name, &missing.span(), message);
    Some(error.with_help(files(program, given)))
}

/// The error of typing a program, with advice about the files.
pub fn about(error: TextError, program: &Program, given: &[Given]) -> TextError {
    match error.kind {
        ErrorKind::Name => of_name(error, program, given),
        ErrorKind::Shape => of_shape(error, program, given),
        _ => error,
    }
}

/// Adds advice for an unknown name, which may be a name that needs a file.
fn of_name(error: TextError, program: &Program, given: &[Given]) -> TextError {
    let name = at(program, &error.span);
    let is_free = program.inputs().any(|input| input.name() == name);
    if !is_free || error.message != format!("`{name}` is not known") {
        return error;
    }
    let help = match error.help.as_deref() {
        // The name is one of another language, or a function's, so a missing file is not the cause.
        Some(help)
            if !["no names", "known are", "did you mean"].iter().any(|start| help.starts_with(start)) =>
        {
            return error;
        }
        Some(help) if help.starts_with("did you mean") => {
            format!("{help} A file for it is given as `{name}=FILE`")
        }
        Some(help) if help.starts_with("known are") => {
            format!("{help}; for another file, write `{name}=FILE` after the expression")
        }
        _ => files(program, given),
    };
    error.with_help(help)
}

/// The arguments that would give files for all names that have none.
fn files(program: &Program, given: &[Given]) -> String {
    let is_given = |name: &str| given.iter().any(|given| given.name == name);
    let missing = program.inputs().filter(|input| input.constant().is_none() && !is_given(input.name()));
    let words: Vec<String> = missing.map(|input| format!("{}=FILE", input.name())).collect();
    format!("after the expression, write `{}`", words.join(" "))
}

/// Adds the shapes of the files that the operands come from, those of the first operand first.
fn of_shape(error: TextError, program: &Program, given: &[Given]) -> TextError {
    let mut named: Vec<&Given> = Vec::new();
    for (span, _) in &error.operands {
        for word in at(program, span).split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            let input = given.iter().find(|given| given.name == word);
            named.extend(input.filter(|input| !named.iter().any(|other| other.name == input.name)));
        }
    }
    // The operands are bindings, or the error is within a function.
    if named.is_empty() {
        named = given.iter().collect();
    }
    if named.is_empty() || named.len() > LISTED {
        return error;
    }
    let shapes: Vec<String> = named.iter().map(|input| input.described.clone()).collect();
    let shapes = shapes.join(", ");
    let help = error.help.as_ref().map_or(shapes.clone(), |help| format!("{help}; {shapes}"));
    error.with_help(help)
}

fn at<'p>(program: &'p Program, span: &Span) -> &'p str {
    program.text().get(span.start as usize..span.end as usize).unwrap_or_default()
}
