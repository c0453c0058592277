//! The configuration file: options by their names, as defaults of the command line.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Command;
use toml::{Table, Value};

use super::{PROGRAM, one_line};

/// Larger files are none that somebody wrote by hand.
const MAX_FILE: u64 = 1 << 20;

/// Options that make no sense in a file.
const ONLY_ON_COMMAND_LINE: [&str; 4] = ["config", "check", "help", "version"];

/// Makes the values of the file the defaults of `command`.
///
/// # Errors
/// Everything that is wrong with the file, one line each.
pub(super) fn apply(mut command: Command, file: &Path) -> Result<Command, Vec<String>> {
    let name = file.display();
    let table = read(file).map_err(|error| vec![format!("{name}: {error}")])?;
    let pristine = command.clone();
    let mut errors = Vec::new();
    for (key, value) in &table {
        let id = option_id(&pristine, key).ok_or_else(|| {
            format!("there is no option `{key}`; the options are: {}", options(&pristine))
        });
        let text = id.and_then(|id| Ok((id, text_of(value)?)));
        match text.and_then(|(id, text)| check(&pristine, key, &text).map(|()| (id, text))) {
            Ok((id, text)) => command = command.mut_arg(id, |arg| arg.default_value(text)),
            Err(error) => errors.push(format!("{name}: {key}: {error}")),
        }
    }
    if errors.is_empty() { Ok(command) } else { Err(errors) }
}

fn read(file: &Path) -> Result<Table, String> {
    let mut text = String::new();
    let bytes = File::open(file).and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
    if bytes.map_err(|error| error.to_string())? as u64 == MAX_FILE {
        return Err(format!("longer than {MAX_FILE} bytes"));
    }
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", error.message().replace('\n', " "))
    })
}

/// Internal name of the option with this long name.
fn option_id(command: &Command, key: &str) -> Option<String> {
    let is_allowed = !ONLY_ON_COMMAND_LINE.contains(&key);
    let mut arguments = command.get_arguments();
    let found = arguments.find(|argument| is_allowed && argument.get_long() == Some(key))?;
    Some(found.get_id().to_string())
}

fn options(command: &Command) -> String {
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let names: Vec<_> = visible
        .filter_map(clap::Arg::get_long)
        .filter(|name| !ONLY_ON_COMMAND_LINE.contains(name))
        .collect();
    names.join(", ")
}

/// A value as one would type it.
fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(flag) => Ok(flag.to_string()),
        Value::Array(values) => {
            let texts: Result<Vec<_>, _> = values.iter().map(text_of).collect();
            Ok(texts?.join(","))
        }
        other => Err(format!(
            "expected a string, a whole number, true or false, or a list, not a {}",
            other.type_str()
        )),
    }
}

/// Lets the command line judge a value.
fn check(command: &Command, key: &str, text: &str) -> Result<(), String> {
    let arguments = [PROGRAM.to_owned(), format!("--{key}={text}")];
    let result = command.clone().try_get_matches_from(arguments);
    result.map(|_| ()).map_err(|error| one_line::of(&error))
}
