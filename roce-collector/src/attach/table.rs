//! What was tried on which interface, and what came of it.

use std::fmt;

use serde::Serialize;

use super::{Direction, Hook, Mode};

/// The result of attaching: one row for each way that was tried or ruled out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttachTable {
    rows: Vec<AttachRow>,
    /// End of the verifier's log of each program that it rejected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejections: Vec<Rejection>,
}

/// One way to attach to one direction of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttachRow {
    /// Name of the interface.
    pub interface: String,
    /// Direction.
    pub direction: Direction,
    /// Hook.
    pub hook: Hook,
    /// Mode of the hook.
    pub mode: Mode,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What else is worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What came of a way to attach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "snake_case")]
pub enum Outcome {
    /// The program runs.
    Attached,
    /// It was refused, and the next way was tried.
    FellBack(String),
    /// It was ruled out beforehand.
    NotTried(String),
    /// It was refused, and there was no other way.
    Failed(String),
    /// It ran, and does no longer.
    Detached(String),
}

/// A program that the kernel's verifier rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// Name of the program.
    pub program: &'static str,
    /// Last lines of the verifier's log.
    pub log: String,
}

/// One running attachment, as `roce_collector_hook_info` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedHook<'a> {
    /// Name of the interface.
    pub device: &'a str,
    /// Direction.
    pub direction: Direction,
    /// Hook.
    pub hook: Hook,
    /// Mode of the hook.
    pub mode: Mode,
}

impl AttachTable {
    /// Every row, in the order of the interfaces and of the attempts.
    pub fn rows(&self) -> &[AttachRow] {
        &self.rows
    }

    /// The attachments that run.
    pub fn attached(&self) -> impl Iterator<Item = AttachedHook<'_>> {
        self.rows.iter().filter(|row| row.outcome == Outcome::Attached).map(|row| AttachedHook {
            device: &row.interface,
            direction: row.direction,
            hook: row.hook,
            mode: row.mode,
        })
    }

    /// Programs that the verifier rejected.
    pub fn rejections(&self) -> &[Rejection] {
        &self.rejections
    }

    /// Adds a row; one that says the same as the last, of another program, is left out.
    pub(crate) fn push(&mut self, row: AttachRow) {
        if self.rows.last() != Some(&row) {
            self.rows.push(row);
        }
    }

    pub(crate) fn push_rejection(&mut self, rejection: Rejection) {
        if !self.rejections.iter().any(|known| known.program == rejection.program) {
            self.rejections.push(rejection);
        }
    }

    /// Puts the rows of `interface` aside for those in `rows`, in the same place.
    pub(crate) fn replace(&mut self, interface: &str, rows: Self) {
        let at = self.rows.iter().position(|row| row.interface == interface);
        self.rows.retain(|row| row.interface != interface);
        let at = at.unwrap_or(self.rows.len());
        self.rows.splice(at..at, rows.rows);
        for rejection in rows.rejections {
            self.push_rejection(rejection);
        }
    }

    /// Marks what runs on `interface` as detached, in `direction` or in both.
    pub(crate) fn mark_detached(
        &mut self,
        interface: &str,
        direction: Option<Direction>,
        reason: &str,
    ) {
        for row in &mut self.rows {
            if row.interface == interface
                && row.outcome == Outcome::Attached
                && direction.is_none_or(|direction| direction == row.direction)
            {
                row.outcome = Outcome::Detached(reason.to_owned());
            }
        }
    }

    /// Turns the last rows of a direction that got nothing from "fell back" to "failed".
    pub(crate) fn fail_last(&mut self) {
        if let Some(Outcome::FellBack(reason)) = self.rows.last().map(|row| row.outcome.clone()) {
            let last = self.rows.len() - 1;
            self.rows[last].outcome = Outcome::Failed(reason);
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attached => formatter.write_str("attached"),
            Self::FellBack(reason) => write!(formatter, "fell back: {reason}"),
            Self::NotTried(reason) => write!(formatter, "not tried: {reason}"),
            Self::Failed(reason) => write!(formatter, "failed: {reason}"),
            Self::Detached(reason) => write!(formatter, "detached: {reason}"),
        }
    }
}

/// Aligned columns under a header, one line a row, without a line end at the end.
impl fmt::Display for AttachTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rows.iter().map(|row| row.interface.chars().count());
        let width = names.max().unwrap_or(0).max("INTERFACE".len());
        write!(
            formatter,
            "{:width$}  {:9}  HOOK  {:7}  OUTCOME",
            "INTERFACE", "DIRECTION", "MODE"
        )?;
        for row in &self.rows {
            let AttachRow { interface, direction, hook, mode, outcome, note } = row;
            let hook = hook.name();
            write!(
                formatter,
                "\n{interface:width$}  {direction:9}  {hook:4}  {mode:7}  {outcome}"
            )?;
            if let Some(note) = note {
                write!(formatter, " ({note})")?;
            }
        }
        for Rejection { program, log } in &self.rejections {
            write!(formatter, "\n\nThe kernel's verifier rejected {program}. End of its log:")?;
            for line in log.lines() {
                write!(formatter, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(interface: &str, direction: Direction, mode: Mode, outcome: Outcome) -> AttachRow {
        AttachRow {
            interface: interface.to_owned(),
            direction,
            hook: mode.hook(),
            mode,
            outcome,
            note: None,
        }
    }

    fn table() -> AttachTable {
        let mut table = AttachTable::default();
        let refused = Outcome::FellBack("the driver has no native XDP".to_owned());
        table.push(row("lo", Direction::Ingress, Mode::Native, refused.clone()));
        table.push(row("lo", Direction::Ingress, Mode::Native, refused));
        table.push(row("lo", Direction::Ingress, Mode::Tcx, Outcome::Attached));
        let mut down = row("enp1s0f0np0", Direction::Egress, Mode::Clsact, Outcome::Attached);
        down.note = Some("interface is down".to_owned());
        table.push(down);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
INTERFACE    DIRECTION  HOOK  MODE     OUTCOME
lo           ingress    xdp   native   fell back: the driver has no native XDP
lo           ingress    tc    tcx      attached
enp1s0f0np0  egress     tc    clsact   attached (interface is down)";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn json_names_outcome_and_reason() {
        let json = serde_json::to_value(table()).unwrap();
        let expected = serde_json::json!({
            "interface": "lo", "direction": "ingress", "hook": "xdp", "mode": "native",
            "outcome": "fell_back", "reason": "the driver has no native XDP",
        });
        assert_eq!(json["rows"][0], expected);
        assert_eq!(json["rows"][2]["outcome"], "attached");
        assert_eq!(json["rows"][2]["note"], "interface is down");
        assert!(json.get("rejections").is_none());
    }

    #[test]
    fn a_lost_interface_is_no_attached_hook() {
        let mut table = table();
        assert_eq!(
            table.attached().map(|hook| hook.device).collect::<Vec<_>>(),
            ["lo", "enp1s0f0np0"]
        );
        table.mark_detached("lo", None, "the interface is gone");
        assert_eq!(table.attached().map(|hook| hook.mode).collect::<Vec<_>>(), [Mode::Clsact]);
        assert!(table.to_string().contains("detached: the interface is gone"));

        let mut again = AttachTable::default();
        again.push(row("lo", Direction::Ingress, Mode::Generic, Outcome::Attached));
        table.replace("lo", again);
        let modes: Vec<_> = table.attached().map(|hook| (hook.device, hook.mode)).collect();
        assert_eq!(modes, [("lo", Mode::Generic), ("enp1s0f0np0", Mode::Clsact)]);
    }

    #[test]
    fn a_rejection_shows_its_log_once() {
        let mut table = table();
        let rejection =
            Rejection { program: "roce_xdp", log: "R1 invalid\nprocessed 9".to_owned() };
        table.push_rejection(rejection.clone());
        table.push_rejection(rejection);
        assert_eq!(table.rejections().len(), 1);
        assert!(table.to_string().ends_with("log:\n    R1 invalid\n    processed 9"), "{table}");
    }
}
