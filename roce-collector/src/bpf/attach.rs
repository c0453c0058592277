//! Carries attach plans out.

mod hold;

use std::path::Path;

use super::{Datapath, DatapathOptions};
use crate::attach::{
    AttachError, AttachRow, AttachTable, Direction, DirectionChoice, Event, HookChoice,
    KernelFacts, LinkFacts, LinkSource, Links, Mode, Outcome, Program, Refusal, Rejection, Step,
    check_target, is_impossible, is_leftover, plan, resolve,
};
use hold::{Failure, Held};

/// Calls of [`Attachments::reconcile`] after which a failed attach is tried again, though nothing
/// about its interface has changed.
const RETRY_AFTER: u32 = 30;

/// What to attach to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachRequest {
    /// Names of the interfaces; the place of a name says which taps are its.
    pub interfaces: Vec<String>,
    /// Hook.
    pub hook: HookChoice,
    /// Directions.
    pub direction: DirectionChoice,
    /// What the kernel can do; `KernelFacts::default()` unless it is known better.
    pub kernel: KernelFacts,
}

/// The programs of a [`Datapath`] on their interfaces. Dropping it detaches them.
#[derive(Debug)]
pub struct Attachments {
    request: AttachRequest,
    interfaces: Vec<Interface>,
    table: AttachTable,
}

#[derive(Debug)]
struct Interface {
    name: String,
    pair: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Attached {
        index: u32,
        held: Vec<Held>,
    },
    /// The facts with which attaching failed last, how long ago in calls, and why.
    Detached {
        tried: Option<LinkFacts>,
        calls: u32,
        reason: String,
    },
}

impl Attachments {
    /// Attaches to every interface of `request` in every direction, or to none.
    ///
    /// `links` are facts of now, with the filters of the interfaces. Filters that a killed process
    /// left on them are removed.
    ///
    /// # Errors
    ///
    /// When an interface is missing, a bond or a VLAN, or refuses every hook asked for, or when the
    /// process may not attach.
    pub fn attach(
        datapath: &mut Datapath,
        links: &Links,
        request: AttachRequest,
    ) -> Result<Self, AttachError> {
        if is_impossible(request.hook, request.direction.directions()) {
            return Err(AttachError::EgressByXdp(request.hook));
        }
        let targets = resolve(links, &request.interfaces)?;
        let room = datapath.taps.len() / 2;
        if targets.len() > room {
            return Err(AttachError::TooMany { given: targets.len(), room });
        }
        let mut attachments =
            Self { request, interfaces: Vec::new(), table: AttachTable::default() };
        for (pair, link) in (0..).zip(targets) {
            let (held, rows) = attachments.attach_interface(datapath, link, pair)?;
            attachments.table.replace(&link.name, rows);
            let state = State::Attached { index: link.index, held };
            attachments.interfaces.push(Interface { name: link.name.clone(), pair, state });
        }
        Ok(attachments)
    }

    /// What was tried, and what runs now.
    pub const fn table(&self) -> &AttachTable {
        &self.table
    }

    /// Attaches again to interfaces that came back or whose programs somebody else detached, and
    /// marks those that are gone. Taps keep their numbers.
    ///
    /// `links` must have been read after the call before, with the filters of the interfaces.
    pub fn reconcile(&mut self, datapath: &mut Datapath, links: &Links) -> Vec<Event> {
        let mut events = Vec::new();
        for at in 0..self.interfaces.len() {
            let link = links.named(&self.interfaces[at].name);
            self.drop_what_is_gone(datapath, at, link, &mut events);
            if let Some(link) = link {
                self.attach_again(datapath, at, links, link, &mut events);
            }
        }
        events
    }

    fn drop_what_is_gone(
        &mut self,
        datapath: &mut Datapath,
        at: usize,
        link: Option<&LinkFacts>,
        events: &mut Vec<Event>,
    ) {
        let Interface { name, pair, state } = &mut self.interfaces[at];
        let State::Attached { index, held } = state else { return };
        let same = link.filter(|link| link.index == *index);
        let removed: Vec<&Held> = match same {
            Some(link) => held.iter().filter(|held| !held.is_on(link)).collect(),
            None => Vec::new(),
        };
        if same.is_some() && removed.is_empty() {
            return;
        }
        if same.is_none() {
            self.table.mark_detached(name, None, "the interface is gone");
            events.push(Event::Lost { interface: name.clone() });
        }
        for held in removed {
            let Held { direction, mode, .. } = *held;
            self.table.mark_detached(name, Some(direction), "somebody else detached it");
            events.push(Event::Removed { interface: name.clone(), direction, mode });
        }
        *state = State::Detached { tried: None, calls: 0, reason: String::new() };
        // The map entry is only a hint once nothing is attached; a failure changes nothing.
        let _ = datapath.set_interface(*pair, 0);
    }

    fn attach_again(
        &mut self,
        datapath: &mut Datapath,
        at: usize,
        links: &Links,
        link: &LinkFacts,
        events: &mut Vec<Event>,
    ) {
        let interface = link.name.clone();
        let pair = self.interfaces[at].pair;
        let State::Detached { tried, calls, reason: known } = &mut self.interfaces[at].state else {
            return;
        };
        *calls += 1;
        if tried.as_ref() == Some(link) && *calls < RETRY_AFTER {
            return;
        }
        let known = std::mem::take(known);
        let outcome = match check_target(links, link) {
            Ok(()) => self.attach_interface(datapath, link, pair),
            Err(error) => Err(error.into()),
        };
        self.interfaces[at].state = match outcome {
            Ok((held, rows)) => {
                self.table.replace(&interface, rows);
                events.push(Event::Attached { interface, index: link.index });
                State::Attached { index: link.index, held }
            }
            Err(error) => {
                let reason = error.to_string();
                if let AttachError::NoHook { table, .. } = error {
                    self.table.replace(&interface, table);
                }
                if reason != known {
                    events.push(Event::Failed { interface, reason: reason.clone() });
                }
                State::Detached { tried: Some(link.clone()), calls: 0, reason }
            }
        };
    }

    /// Attaches to one interface in every direction, or not at all.
    fn attach_interface(
        &mut self,
        datapath: &mut Datapath,
        link: &LinkFacts,
        pair: u32,
    ) -> Result<(Vec<Held>, AttachTable), AttachError> {
        for filter in link.filters.iter().filter(|filter| is_leftover(**filter)) {
            hold::remove_filter(&link.name, *filter);
        }
        datapath.set_interface(pair, link.index)?;
        let mut rows = AttachTable::default();
        let mut held = Vec::new();
        for &direction in self.request.direction.directions() {
            let Some(program) = self.attach_direction(datapath, link, direction, &mut rows)? else {
                rows.fail_last();
                rows.mark_detached(&link.name, None, "another direction failed");
                return Err(AttachError::NoHook {
                    interface: link.name.clone(),
                    direction,
                    choice: self.request.hook,
                    table: rows,
                });
            };
            held.push(program);
        }
        Ok((held, rows))
    }

    /// Takes the first hook of the plan that can be had.
    fn attach_direction(
        &mut self,
        datapath: &mut Datapath,
        link: &LinkFacts,
        direction: Direction,
        rows: &mut AttachTable,
    ) -> Result<Option<Held>, AttachError> {
        for step in plan(link, direction, self.request.hook, self.request.kernel) {
            let (mode, outcome, note, held) = match step {
                Step::Skip { mode, reason } => (mode, Outcome::NotTried(reason), None, None),
                Step::Try { mode, program, note } => {
                    match hold::attach(datapath, link, direction, mode, program) {
                        Ok(held) => (mode, Outcome::Attached, notes(note, link), Some(held)),
                        Err(failure) => {
                            let reason = self.learn(failure, link, mode, program, rows)?;
                            (mode, Outcome::FellBack(reason), None, None)
                        }
                    }
                }
            };
            let interface = link.name.clone();
            rows.push(AttachRow { interface, direction, hook: mode.hook(), mode, outcome, note });
            if held.is_some() {
                return Ok(held);
            }
        }
        Ok(None)
    }

    /// The failure in words; an error when no other way can succeed. Remembers what the kernel lacks.
    fn learn(
        &mut self,
        failure: Failure,
        link: &LinkFacts,
        mode: Mode,
        program: Program,
        rows: &mut AttachTable,
    ) -> Result<String, AttachError> {
        let is_load = matches!(failure, Failure::Load(_));
        let (Failure::Load(refusal) | Failure::Attach(refusal)) = failure;
        match &refusal {
            Refusal::Permission(_) | Refusal::NoBpf => {
                let reason = refusal.to_string();
                return Err(AttachError::Refused { interface: link.name.clone(), reason });
            }
            Refusal::Verifier(log) => {
                rows.push_rejection(Rejection { program: program.name(), log: log.clone() });
            }
            Refusal::Other { errno: Some(libc::EINVAL), .. }
                if is_load && program == Program::XdpFrags =>
            {
                self.request.kernel.xdp_frags = false;
                return Ok("this kernel has no multi-buffer XDP (Linux 5.18)".to_owned());
            }
            Refusal::Other { errno: Some(libc::EINVAL), .. } if mode == Mode::Tcx => {
                self.request.kernel.tcx = false;
                return Ok("this kernel has no TC links (Linux 6.6)".to_owned());
            }
            Refusal::Other { .. } => {}
        }
        Ok(refusal.to_string())
    }
}

fn notes(note: Option<String>, link: &LinkFacts) -> Option<String> {
    let down = (!link.is_up).then(|| "the interface is down".to_owned());
    match (note, down) {
        (Some(note), Some(down)) => Some(format!("{down}; {note}")),
        (note, down) => note.or(down),
    }
}

/// Loads, attaches and detaches: what `roce-collector --check` shows. `sysfs` is `/sys` unless in a
/// test.
///
/// # Errors
///
/// Those of [`Datapath::load`], [`LinkSource`] and [`Attachments::attach`].
pub async fn check(
    options: &DatapathOptions,
    request: AttachRequest,
    sysfs: &Path,
) -> Result<AttachTable, AttachError> {
    let links = LinkSource::open(sysfs)?.read(&request.interfaces).await?;
    // Bad names are said before a kernel that refuses the maps.
    resolve(&links, &request.interfaces)?;
    let mut datapath = Datapath::load(options)?;
    Ok(Attachments::attach(&mut datapath, &links, request)?.table)
}
