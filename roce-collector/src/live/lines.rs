//! Writes a view every interval.

use std::io::Write;

use tokio::time::Instant;

use super::plain::Plain;
use super::source::Reading;
use super::{LiveError, Model, Pace, Question, Source, Stop, View, json};

/// Samples in a row that a collector may miss before that is the end.
const MAX_MISSES: u32 = 5;

/// Form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    /// For people.
    Plain,
    /// One JSON object for each sample.
    Json,
}

/// Writes views until the pace or a signal ends it.
///
/// # Errors
/// When the source fails, or the output cannot be written.
pub async fn watch_lines(
    source: &mut Source,
    question: Question,
    pace: Pace,
    format: LineFormat,
    out: &mut impl Write,
    stop: &mut Stop,
) -> Result<(), LiveError> {
    let name = source.name();
    let mut writer = Writer { plain: Plain::default(), format, question, name, out };
    let mut model = Model::default();
    let start = Instant::now();
    let end = pace.duration.map(|duration| start + duration);
    let (mut due, mut shown, mut misses) = (start, 0, 0);
    let mut last = None;
    if source.begins_empty() {
        let Reading::Sample(nothing) = source.sample_at(start).await? else { return Ok(()) };
        last = Some(model.take(nothing));
        due += pace.interval;
    }
    while pace.count.is_none_or(|count| shown < count) && end.is_none_or(|end| due <= end) {
        let reading = tokio::select! {
            reading = source.sample_at(due) => reading?,
            () = stop.requested() => break,
        };
        // After a pause of the whole machine samples are not made up for.
        due = Instant::now().max(due + pace.interval);
        match reading {
            Reading::Sample(sample) => {
                misses = 0;
                shown += 1;
                let view = model.take(sample);
                writer.view(&view)?;
                last = Some(view);
            }
            Reading::Missed(error) => {
                misses += 1;
                if misses >= MAX_MISSES {
                    return Err(error);
                }
            }
        }
    }
    last.map_or(Ok(()), |last| writer.end(&last))
}

struct Writer<'a, W> {
    plain: Plain,
    format: LineFormat,
    question: Question,
    name: String,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    fn view(&mut self, view: &View) -> Result<(), LiveError> {
        let (question, out) = (self.question, &mut *self.out);
        match self.format {
            LineFormat::Plain => self.plain.write(out, view, question, &self.name),
            LineFormat::Json => json::write(out, view, question, &self.name),
        }
        .and_then(|()| out.flush())
        .map_err(LiveError::output)
    }

    /// Nobody is left with an empty table and no words.
    fn end(&mut self, last: &View) -> Result<(), LiveError> {
        if self.format == LineFormat::Json || !last.flows.is_empty() {
            return Ok(());
        }
        let written = self.plain.explain(self.out, last, self.question);
        written.and_then(|()| self.out.flush()).map_err(LiveError::output)
    }
}
