//! The screen, drawn from the latest view.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::Paragraph;

use super::absence::{headline, is_due, reasons};
use super::columns::table;
use super::figures::seconds;
use super::keys::{Controls, HELP, Next};
use super::piece::{Line, Piece, Tone, wrap};
use super::plain::clock;
use super::{FlowView, Pace, Question, View, heading, lately};

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Screen {
    source: String,
    question: Question,
    pace: Pace,
    has_colours: bool,
    controls: Controls,
    /// What is shown, and what came since, if paused.
    shown: Option<View>,
    latest: Option<View>,
    /// Why there is no newer view.
    missed: Option<String>,
    /// Flows that fitted the last time.
    page: usize,
}

impl Screen {
    pub(super) fn new(source: String, question: Question, pace: Pace, has_colours: bool) -> Self {
        Self {
            source,
            question,
            pace,
            has_colours,
            controls: Controls::default(),
            shown: None,
            latest: None,
            missed: None,
            page: 0,
        }
    }

    pub(super) fn update(&mut self, view: View) {
        self.missed = None;
        self.latest = Some(view);
        self.follow();
    }

    pub(super) fn missed(&mut self, reason: String) {
        self.missed = Some(reason);
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Next {
        let flows = self.shown.as_ref().map_or(0, |view| view.flows.len());
        let next = self.controls.key(key, self.page, flows);
        self.follow();
        next
    }

    fn follow(&mut self) {
        if !self.controls.is_paused && self.latest.is_some() {
            self.shown = self.latest.take();
        }
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        // Title, a header of the flows, and the line of keys are always there.
        let mut head = vec![self.title()];
        if let Some(reason) = &self.missed {
            let stale = format!("{reason}; what stands below is old");
            let lines = wrap(&stale, width).into_iter();
            head.extend(lines.map(|line| vec![Piece::new(line, Tone::Bad)]));
        }
        let mut body = Vec::new();
        if self.controls.is_help {
            body = help();
        } else if let Some(view) = &self.shown {
            head.extend(heading::taps(view));
            head.extend(heading::notes(view, width));
            head.push(Line::new());
            head.truncate((height / 2).max(1));
            let room = height.saturating_sub(head.len() + 2);
            self.page = room;
            let last_top = view.flows.len().saturating_sub(room);
            self.controls.top = self.controls.top.min(last_top);
            body = flows(view, self.question, self.controls, width, room);
        }
        let rest = height.saturating_sub(head.len() + 1);
        body.truncate(rest);
        body.resize(rest, Line::new());
        let lines = head.into_iter().chain(body).chain([self.footer()]);
        let lines: Vec<_> = lines.map(|line| self.styled(line)).take(height).collect();
        frame.render_widget(Paragraph::new(lines), Rect { ..area });
    }

    fn title(&self) -> Line {
        let mut title = vec![Piece::new("roce-trace live", Tone::Strong)];
        if !self.question.filter().is_empty() {
            title.push(Piece::plain(format!("  packets{}", self.question.words())));
        }
        title.push(Piece::plain(format!("  {}", self.source)));
        if let Some(view) = &self.shown {
            let every = seconds(self.pace.interval);
            title.push(Piece::plain(format!("  {}, every {every}", clock(view))));
        }
        if self.controls.is_paused {
            title.push(Piece::new("  PAUSED", Tone::Warning));
        }
        title
    }

    fn footer(&self) -> Line {
        let sort = self.controls.sort.name();
        let mut parts =
            vec!["q quit  s sort  p pause  ? help".to_owned(), format!("sorted by {sort}")];
        if let Some(view) = &self.shown {
            let (top, count) = (self.controls.top, view.flows.len());
            parts.push(if count > self.page {
                format!("flows {} to {} of {count}", top + 1, (top + self.page).min(count))
            } else {
                format!("{count} flows")
            });
            if view.matching > count {
                parts.push(format!("{} more: see --limit", view.matching - count));
            }
        }
        vec![Piece::new(parts.join("   "), Tone::Faint)]
    }

    fn styled(&self, line: Line) -> TextLine<'static> {
        let style = |tone: Tone| {
            let colour =
                |colour| if self.has_colours { Style::new().fg(colour) } else { Style::new() };
            match tone {
                Tone::Plain => Style::new(),
                Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
                Tone::Faint => Style::new().add_modifier(Modifier::DIM),
                Tone::Warning => colour(Color::Yellow),
                Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
            }
        };
        let spans = line.into_iter().map(|Piece { text, tone }| Span::styled(text, style(tone)));
        spans.collect::<Vec<_>>().into()
    }
}

/// The flows in `room` lines under their header, or why there are none.
fn flows(
    view: &View,
    question: Question,
    controls: Controls,
    width: usize,
    room: usize,
) -> Vec<Line> {
    if view.flows.is_empty() {
        let mut lines = Vec::new();
        let mut say = |text: &str, tone| {
            lines.extend(wrap(text, width).into_iter().map(|line| vec![Piece::new(line, tone)]));
        };
        say(&headline(view, question), Tone::Warning);
        if is_due(view) {
            for reason in reasons(view, question) {
                say(&format!("- {reason}"), Tone::Plain);
            }
        }
        return lines;
    }
    let mut flows: Vec<&FlowView> = view.flows.iter().collect();
    controls.sort.sort(&mut flows);
    let end = (controls.top + room).min(flows.len());
    let mut lines = table(view, &flows[controls.top.min(end)..end], Some(width));
    if question.qp.is_some() {
        lines.extend(lately::lines(view, room.saturating_sub(lines.len())));
    }
    lines
}

fn help() -> Vec<Line> {
    let width = HELP.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    let lines = HELP.iter().map(|(keys, what)| {
        vec![Piece::new(format!("  {keys:width$}  "), Tone::Strong), Piece::plain(*what)]
    });
    [Line::new()].into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests;
