//! Text with a meaning that a terminal may show by colour.

use std::fmt::Write;

/// What a text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// Names of columns.
    Strong,
    /// Of less interest.
    Faint,
    /// Worth a look.
    Warning,
    /// Trouble.
    Bad,
}

/// A text and its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// Pieces from left to right.
pub(super) type Line = Vec<Piece>;

/// Side that the texts of a column stand at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Space between columns.
pub(super) const GAP: usize = 2;
/// Space between columns where there is little room.
pub(super) const NARROW_GAP: usize = 1;

impl Piece {
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }

    pub(super) fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// A row of a table whose columns have these widths.
pub(super) fn row(cells: Vec<Piece>, columns: &[(Side, usize)], gap: usize) -> Line {
    let last = cells.len().saturating_sub(1);
    let cells = cells.into_iter().zip(columns).enumerate();
    let padded = cells.map(|(place, (mut cell, &(side, width)))| {
        let missing = width.saturating_sub(cell.width());
        match side {
            Side::Right => cell.text.insert_str(0, &" ".repeat(missing)),
            Side::Left if place != last => cell.text.push_str(&" ".repeat(missing)),
            Side::Left => {}
        }
        if place != last {
            cell.text.push_str(&" ".repeat(gap));
        }
        cell
    });
    padded.collect()
}

/// The text alone.
pub(super) fn text(line: &[Piece]) -> String {
    let mut text = line.iter().fold(String::new(), |mut text, piece| {
        let _ = write!(text, "{}", piece.text);
        text
    });
    text.truncate(text.trim_end().len());
    text
}

/// Breaks `text` between words into lines of at most `width` characters; longer words are cut.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(width) {
            if used != 0 && used + 1 + part.len() > width {
                lines.push(String::new());
                used = 0;
            }
            let Some(line) = lines.last_mut() else { continue };
            if used != 0 {
                line.push(' ');
                used += 1;
            }
            line.extend(part);
            used += part.len();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrap("no packet of this QP", 9), ["no packet", "of this", "QP"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
