//! `roce-trace read`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};

use super::read_log::BesideLog;
use super::trace::{OutputFormat, PROGRAM, ReadArgs};
use super::{FAILURE, complain};
use crate::capture::{CaptureError, CaptureReader};
use crate::diagnosis::HostFacts;
use crate::read::{Colours, Engine, IncidentFinder, ReadReport, Source, Tap, write_text};

/// Smaller files are read before anybody wonders.
const PROGRESS_FROM_BYTES: u64 = 64 * 1024 * 1024;
/// Frames between two looks at the progress.
const PROGRESS_FRAMES: u64 = 1 << 16;

/// Reads the file and writes the report.
///
/// A file that was cut off is reported as far as it goes, with a warning; damage in the middle is an
/// error in the end, but does not hide what was read before it.
pub(super) fn run(args: &ReadArgs) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    let facts = match &args.facts {
        Some(path) => {
            HostFacts::read(path).map_err(|error| anyhow!("{}: {error}", path.display()))?
        }
        None => HostFacts::default(),
    };
    let log = args.log.as_ref().map(|log| BesideLog::open(log, &args.file)).transpose()?;
    let mut reader = CaptureReader::open(&args.file).map_err(|error| anyhow!("{name}: {error}"))?;
    let mut engine = Engine::new(args.max_flows, args.marking.policy());
    let error = read_frames(&mut reader, &mut engine);
    let mut code = ExitCode::SUCCESS;
    if let Some(error) = &error {
        complain(PROGRAM, &format!("{name}: {error}"));
        if !matches!(error, CaptureError::Truncated { .. }) {
            code = ExitCode::from(FAILURE);
        }
    }
    let source = Source {
        file: &args.file,
        info: reader.info(),
        capture_dropped: reader.capture_dropped(),
        error: error.map(|error| error.to_string()),
    };
    let filter = args.filter.filter();
    let reading = engine.finish();
    let tap_name = source.name();
    let tap = Tap { name: &tap_name, hosts: &args.captured_on };
    let mut finder = IncidentFinder::new(&reading, tap, facts);
    if let Some(error) = log.and_then(|log| log.scan(&mut finder)) {
        complain(PROGRAM, &error);
        code = ExitCode::from(FAILURE);
    }
    let report = ReadReport::with_incidents(&reading, &source, finder.finish(), &filter);
    if code == ExitCode::SUCCESS && report.has_failures() {
        code = ExitCode::FAILURE;
    }

    let stdout = io::stdout().lock();
    let colours = colours(stdout.is_terminal());
    let mut out = BufWriter::new(stdout);
    match args.format {
        OutputFormat::Text => write_text(&mut out, &report, &filter, colours)?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(code)
}

/// Reads to the end, or to the error that ends the file early.
fn read_frames(reader: &mut CaptureReader, engine: &mut Engine) -> Option<CaptureError> {
    let progress = progress_bar(reader);
    let mut frames: u64 = 0;
    let end = loop {
        match reader.next_frame() {
            Ok(Some(frame)) => engine.frame(&frame),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        frames += 1;
        if frames.is_multiple_of(PROGRESS_FRAMES) {
            progress.set_position(reader.bytes_read());
        }
    };
    engine.note_loss_at_end(reader.loss_at_end());
    progress.finish_and_clear();
    end
}

/// A bar on standard error for a large file on a terminal, else one that shows nothing.
fn progress_bar(reader: &CaptureReader) -> ProgressBar {
    let size = reader.total_bytes().filter(|bytes| *bytes > PROGRESS_FROM_BYTES);
    match size {
        Some(bytes) if io::stderr().is_terminal() => {
            let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {eta}");
            ProgressBar::new(bytes)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }
        _ => ProgressBar::hidden(),
    }
}

/// Colours on a terminal, unless `NO_COLOR` is set to something.
fn colours(is_terminal: bool) -> Colours {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_terminal && !is_unwanted { Colours::On } else { Colours::Off }
}
