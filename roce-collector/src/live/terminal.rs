//! Shows views on a terminal until the user has seen enough.

use std::io;
use std::pin::pin;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use ratatui::DefaultTerminal;
use tokio::time::Instant;

use super::keys::Next;
use super::screen::Screen;
use super::source::Reading;
use super::{LiveError, Model, Pace, Question, Source, Stop};

/// The alternate screen in raw mode. Dropping it brings back what was there; a panic does so too.
struct Terminal(DefaultTerminal);

impl Terminal {
    fn open() -> io::Result<Self> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                ratatui::restore();
                Err(error)
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows views until a key, a signal or the pace ends it.
///
/// # Errors
/// When the source or the terminal fails.
pub async fn watch_screen(
    source: &mut Source,
    question: Question,
    pace: Pace,
    has_colours: bool,
    stop: &mut Stop,
) -> Result<(), LiveError> {
    let failed = |source| LiveError::Io { what: "cannot use the terminal", source };
    let mut screen = Screen::new(source.name(), question, pace, has_colours);
    let mut model = Model::default();
    let mut terminal = Terminal::open().map_err(failed)?;
    let mut events = EventStream::new();
    let start = Instant::now();
    let end = pace.duration.map(|duration| start + duration);
    // Before own programs have counted anything there is nothing to count as shown.
    let mut left = pace.count.map(|count| count + u64::from(source.begins_empty()));
    let mut due = start;
    while left != Some(0) && end.is_none_or(|end| due <= end) {
        let mut sampling = pin!(source.sample_at(due));
        let reading = loop {
            terminal.0.draw(|frame| screen.draw(frame)).map_err(failed)?;
            tokio::select! {
                biased;
                () = stop.requested() => return Ok(()),
                event = events.next() => match event {
                    Some(Ok(Event::Key(key))) if screen.key(key) == Next::Quit => return Ok(()),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(failed(error)),
                    // The terminal is gone.
                    None => return Ok(()),
                },
                reading = &mut sampling => break reading?,
            }
        };
        due = Instant::now().max(due + pace.interval);
        match reading {
            Reading::Sample(sample) => {
                left = left.map(|left| left - 1);
                screen.update(model.take(sample));
            }
            Reading::Missed(error) => screen.missed(error.to_string()),
        }
    }
    Ok(())
}
