//! `roce-trace explain`.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;

use super::log_file::{self, LARGE};
use super::trace::{OutputFormat, PROGRAM};
use super::{FAILURE, complain};
use crate::explain::{DecoderLimits, ErrorRecord, ScanTotals, Scanner, Severity, write_record};
use crate::read::Colours;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;
/// Pieces read ahead.
const PIECES: usize = 4;
/// A log that says nothing for so long has said all about a failure.
const SILENCE: Duration = Duration::from_secs(1);

/// Decode error lines of NCCL, UCX, perftest, MPI, SPDK, NVMe, mlx5, kernel
///
/// Reads a whole log, plain or gzip-compressed, and shows one record for each failure: what its status and
/// vendor code mean, how well that is known, and every address, QP and device that the lines name. Exit
/// code: 1 when an error was found, 0 when not, 2 when the log cannot be read.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Log file, "-" for standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    /// Form of the output: JSON is one object a line
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    errors: u64,
    secondary: u64,
    events: u64,
}

/// Reads the log and writes a record for each failure, as soon as it is complete.
pub(super) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let name =
        if args.file == Path::new("-") { "standard input" } else { &args.file.to_string_lossy() };
    let log = Log::open(&args.file).map_err(|error| anyhow!("{name}: {error}"))?;
    let stdout = io::stdout().lock();
    let mut output = Output {
        format: args.format,
        colours: colours(stdout.is_terminal()),
        out: BufWriter::new(stdout),
        counts: Counts::default(),
    };
    let started = Instant::now();
    let (totals, read) = scan(&log, &mut output)?;
    let summary = summary(totals, output.counts, started.elapsed());
    match args.format {
        OutputFormat::Text => writeln!(output.out, "{name}: {summary}")?,
        OutputFormat::Json if totals.bytes > LARGE => {
            complain(PROGRAM, &format!("{name}: {summary}"));
        }
        OutputFormat::Json => {}
    }
    output.out.flush()?;
    if let Err(error) = read {
        complain(
            PROGRAM,
            &format!("{name}: {error}; the log was read up to line {}", totals.lines),
        );
        return Ok(ExitCode::from(FAILURE));
    }
    let has_errors = output.counts.errors + output.counts.secondary > 0;
    Ok(if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A log that is read in a thread of its own, so that its silence is noticed.
struct Log {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Bytes, if that is known.
    size: Option<u64>,
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        let (reader, size) = log_file::open(path)?;
        let (sender, pieces) = sync_channel(PIECES);
        thread::Builder::new().name("log".to_owned()).spawn(move || read_ahead(reader, &sender))?;
        Ok(Self { pieces, size })
    }
}

/// Hands on what is read, until the end, an error, or until nobody wants more.
fn read_ahead(mut reader: impl Read, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; PIECE];
        let read = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => {
                piece.truncate(len);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if pieces.send(read).is_err() || is_last {
            break;
        }
    }
}

/// Reads to the end, or to an error of the log; an error of the output ends everything.
fn scan(
    log: &Log,
    output: &mut Output<impl Write>,
) -> anyhow::Result<(ScanTotals, io::Result<()>)> {
    let progress = log_file::progress_bar(log.size);
    let mut scanner = Scanner::new(DecoderLimits::default());
    let mut written = Ok(());
    let mut found = |output: &mut Output<_>, record: ErrorRecord| {
        if written.is_ok() {
            written = output.record(&record);
        }
    };
    let read = loop {
        match log.pieces.recv_timeout(SILENCE) {
            Ok(Ok(piece)) => {
                scanner.feed(&piece, &mut |record| found(output, record));
                progress.set_position(scanner.totals().bytes);
            }
            Ok(Err(error)) => break Err(error),
            // A file is never silent, only its disk is slow.
            Err(RecvTimeoutError::Timeout) if log.size.is_some() => {}
            Err(RecvTimeoutError::Timeout) => {
                scanner.idle(&mut |record| found(output, record));
                output.out.flush()?;
            }
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    scanner.finish(&mut |record| found(output, record));
    progress.finish_and_clear();
    written.context("cannot write the records")?;
    Ok((scanner.totals(), read))
}

struct Output<W: Write> {
    format: OutputFormat,
    colours: Colours,
    out: BufWriter<W>,
    counts: Counts,
}

impl<W: Write> Output<W> {
    fn record(&mut self, record: &ErrorRecord) -> io::Result<()> {
        let count = match record.severity() {
            Severity::Error => &mut self.counts.errors,
            Severity::Secondary => &mut self.counts.secondary,
            Severity::Info => &mut self.counts.events,
        };
        *count += 1;
        match self.format {
            OutputFormat::Text => write_record(&mut self.out, record, self.colours),
            OutputFormat::Json => {
                serde_json::to_writer(&mut self.out, record).map_err(io::Error::from)?;
                writeln!(self.out)
            }
        }
    }
}

fn summary(totals: ScanTotals, counts: Counts, took: Duration) -> String {
    let ScanTotals { bytes, lines, cut_lines } = totals;
    let Counts { errors, secondary, events } = counts;
    let rate = bytes as f64 / 1e6 / took.as_secs_f64().max(1e-6);
    format!(
        "{errors} errors, {secondary} secondary, {events} events in {lines} lines, {bytes} bytes; {cut_lines} \
         lines cut; {rate:.0} MB/s"
    )
}

/// Colours on a terminal, unless `NO_COLOR` is set to something.
fn colours(is_terminal: bool) -> Colours {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_terminal && !is_unwanted { Colours::On } else { Colours::Off }
}
