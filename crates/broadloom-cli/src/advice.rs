//! Advice for mistakes on the command line: names for which no file is given, and files whose shapes don't broadcast.

use broadloom::ErrorKind;
use broadloom::text::{Program, Span, TextError};

/// An input for which a file or a number is given.
#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    /// A description for messages: the name, the file, and its dtype and shape.
    pub described: String,
}

/// The maximum number of files that a message lists.
const LISTED: usize = 4;

/// Returns an error if the program declares inputs for which no file is given. Names that are used without a declaration are
/// left to type inference, which reports them as possible misspellings.
pub fn undeclared(program: &Program, given: &[Given]) -> Option<TextError> {
    let is_given = |name: &str| given.iter().any(|given| given.name == name);
    let missing = program.inputs().find(|input| input.dtype().is_some() && !is_given(input.name()))?;
    let message = format!("no file is given for `{}`", missing.name());
    let error = TextError::new(ErrorKind::Name, &missing.span(), message);
    Some(error.with_help(files(program, given)))
}

/// Adds advice about the given files to an error of type inference.
pub fn about(error: TextError, program: &Program, given: &[Given]) -> TextError {
    match error.kind {
        ErrorKind::Name => of_name(error, program, given),
        ErrorKind::Shape => of_shape(error, program, given),
        _ => error,
    }
}

/// Adds advice to an error about an unknown name, for which a file may be missing.
fn of_name(error: TextError, program: &Program, given: &[Given]) -> TextError {
    let name = at(program, &error.span);
    let is_free = program.inputs().any(|input| input.name() == name);
    if !is_free || error.message != format!("`{name}` is not known") {
        return error;
    }
    let help = match error.help.as_deref() {
        // The error already has advice: the name belongs to another language, or is similar to a function's name. No file is
        // missing then.
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

/// The command-line arguments that would specify files for all names that lack one.
fn files(program: &Program, given: &[Given]) -> String {
    let is_given = |name: &str| given.iter().any(|given| given.name == name);
    let missing = program.inputs().filter(|input| input.constant().is_none() && !is_given(input.name()));
    let words: Vec<String> = missing.map(|input| format!("{}=FILE", input.name())).collect();
    format!("after the expression, write `{}`", words.join(" "))
}

/// Adds the shapes of the files from which the operands come, starting with the first operand.
fn of_shape(error: TextError, program: &Program, given: &[Given]) -> TextError {
    let mut named: Vec<&Given> = Vec::new();
    for (span, _) in &error.operands {
        for word in at(program, span).split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            let input = given.iter().find(|given| given.name == word);
            named.extend(input.filter(|input| !named.iter().any(|other| other.name == input.name)));
        }
    }
    // If no operand is the name of a file, because the operands are bindings or inside a function, all files are listed.
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
