//! What keys do to the screen.

use std::cmp::Reverse;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::FlowView;
use super::grade::order;

/// Whether the screen goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Stay,
    Quit,
}

/// Order of the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortBy {
    #[default]
    Trouble,
    Packets,
    Bits,
    Naks,
    Address,
}

/// What the user chose.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controls {
    pub(super) sort: SortBy,
    pub(super) is_paused: bool,
    pub(super) is_help: bool,
    /// First flow on the screen.
    pub(super) top: usize,
}

/// Keys and columns, and what they are for.
pub(super) const HELP: [(&str, &str); 9] = [
    ("q, Esc, Ctrl-C", "quit"),
    ("s", "sort by trouble, packets, bits, NAKs, address"),
    ("up, down, j, k", "scroll by one flow"),
    ("page up, page down, home, end", "scroll further"),
    ("p, space", "pause, go on; nothing is missed meanwhile"),
    ("?, h", "this help"),
    ("NAK, RNR, CNP", "arrived for this QP, about what its own host sent; since counting began"),
    ("CE, DSCP, MARK", "of the packets in this row, in the last interval that had any"),
    ("QP", "the QP that packets go to: the other direction of a connection is a row of its own"),
];

impl SortBy {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Packets => "packets",
            Self::Bits => "bits",
            Self::Naks => "NAKs",
            Self::Address => "address",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Trouble => Self::Packets,
            Self::Packets => Self::Bits,
            Self::Bits => Self::Naks,
            Self::Naks => Self::Address,
            Self::Address => Self::Trouble,
        }
    }

    /// Orders flows that stand by trouble.
    pub(super) fn sort(self, flows: &mut [&FlowView]) {
        let recent = |flow: &FlowView| flow.growth.unwrap_or_default();
        match self {
            Self::Trouble => {}
            Self::Packets => flows.sort_by_key(|flow| Reverse(recent(flow).packets)),
            Self::Bits => flows.sort_by_key(|flow| Reverse(recent(flow).bytes)),
            Self::Naks => flows.sort_by_key(|flow| {
                let total = |naks: Option<u64>| naks.unwrap_or(0);
                let report = &flow.report;
                Reverse(total(report.naks.map(|naks| naks.total())) + total(report.rnr_naks))
            }),
            Self::Address => flows.sort_by_key(|flow| order(&flow.report)),
        }
    }
}

impl Controls {
    /// Takes a key; `page` is the number of flows on the screen, `flows` that of all.
    pub(super) fn key(&mut self, key: KeyEvent, page: usize, flows: usize) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::Stay;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if is_control => return Next::Quit,
            KeyCode::Esc if self.is_help => self.is_help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('?' | 'h') => self.is_help = !self.is_help,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                self.top = 0;
            }
            KeyCode::Down | KeyCode::Char('j') => self.top += 1,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown => self.top += page.max(1),
            KeyCode::PageUp => self.top = self.top.saturating_sub(page.max(1)),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = flows,
            _ => {}
        }
        self.top = self.top.min(flows.saturating_sub(page.max(1)));
        Next::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(controls: &mut Controls, code: KeyCode) -> Next {
        controls.key(KeyEvent::new(code, KeyModifiers::NONE), 10, 25)
    }

    #[test]
    fn scrolling_ends_at_the_last_page() {
        let mut controls = Controls::default();
        let tops = [
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::PageDown,
            KeyCode::PageDown,
            KeyCode::Home,
            KeyCode::End,
        ]
        .map(|code| {
            press(&mut controls, code);
            controls.top
        });
        assert_eq!(tops, [0, 1, 11, 15, 0, 15]);
    }

    #[test]
    fn escape_leaves_the_help_first() {
        let mut controls = Controls::default();
        press(&mut controls, KeyCode::Char('?'));
        assert_eq!(press(&mut controls, KeyCode::Esc), Next::Stay);
        assert_eq!(press(&mut controls, KeyCode::Esc), Next::Quit);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(controls.key(control_c, 10, 25), Next::Quit);
    }

    #[test]
    fn every_order_comes_round() {
        let mut controls = Controls::default();
        let names: Vec<_> = (0..5)
            .map(|_| {
                press(&mut controls, KeyCode::Char('s'));
                controls.sort.name()
            })
            .collect();
        assert_eq!(names, ["packets", "bits", "NAKs", "address", "trouble"]);
    }
}
