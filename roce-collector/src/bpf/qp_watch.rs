//! Probes on what the kernel does to queue pairs, for those too short-lived for a look once a second.
//!
//! An object of its own, which is optional: where the kernel has no probes or does not describe its types,
//! nothing is watched, and [`QpWatch::state`] says so for each [`Point`]. Nothing is loaded on a host without
//! RDMA. Where things are in the kernel's structs is read from its type information, never assumed.

mod btf;
mod failure;
mod kernel;
pub(crate) mod metrics;
mod point;

use std::fmt;
use std::path::{Path, PathBuf};

use aya::maps::{Array, MapData, PerCpuArray, RingBuf};
use aya::programs::kprobe::KProbeLink;
use aya::programs::{KProbe, ProgramError};
use aya::{Ebpf, EbpfLoader, Pod};
use roce_common::qp_watch::{KernelLayout, LostRecords, QpRecord};

pub use btf::{Btf, BtfError};
pub use failure::{Clocks, QpFailure, QpFailureKind, QpSettings, async_event_name};
use kernel::{Found, Modules, Types};
pub use metrics::Figures as QpWatchFigures;
pub use point::{Absence, Point};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/qp-watch.bpf.o"));

/// The probes of this collector. Dropping it removes them.
pub struct QpWatch {
    sysfs: PathBuf,
    modules: Modules,
    loaded: Option<Loaded>,
    points: Vec<Watched>,
    damaged: u64,
}

/// What is known of a point: the function that is watched, or why none is.
pub type PointState = Result<&'static str, Absence>;

/// A point, and the probe on it while there is one.
struct Watched {
    point: Point,
    state: PointState,
    probe: Option<Probe>,
}

/// It is removed when this is dropped.
struct Probe {
    _link: KProbeLink,
    module: &'static str,
    /// Which loading of the module it is on: the kernel kills the probe with it.
    loading: Option<u64>,
}

struct Loaded {
    ebpf: Ebpf,
    layout: Array<MapData, Words>,
    lost: PerCpuArray<MapData, Losses>,
    ring: RingBuf<MapData>,
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(KernelLayout);

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Losses(LostRecords);

// SAFETY: words of 32 bits without a gap between them, of which every bit pattern is valid.
unsafe impl Pod for Words {}
// SAFETY: words of 64 bits without a gap between them, of which every bit pattern is valid.
unsafe impl Pod for Losses {}

impl fmt::Debug for QpWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QpWatch").field("modules", &self.modules).finish_non_exhaustive()
    }
}

impl QpWatch {
    /// Watches what can be watched of the kernel that `sysfs` describes; [`Self::state`] says what.
    pub fn start(sysfs: &Path) -> Self {
        let modules = Modules::read(sysfs);
        let untried = Err(Absence::NotLoaded("ib_core"));
        let points =
            Point::ALL.map(|point| Watched { point, state: untried.clone(), probe: None }).into();
        let mut watch = Self { sysfs: sysfs.to_owned(), modules, loaded: None, points, damaged: 0 };
        watch.attach();
        watch
    }

    /// What is watched, and why the rest is not.
    pub fn state(&self) -> impl Iterator<Item = (Point, &PointState)> {
        self.points.iter().map(|watched| (watched.point, &watched.state))
    }

    /// Looks for modules that came or went, and tries again what depends on them. Costs three lookups in
    /// sysfs when there is none. Says whether anything was tried.
    pub fn look(&mut self) -> bool {
        let modules = Modules::read(&self.sysfs);
        if modules == self.modules {
            return false;
        }
        self.modules = modules;
        for watched in &mut self.points {
            watched.probe.take_if(|probe| modules.loading(probe.module) != probe.loading);
        }
        self.attach();
        true
    }

    /// The oldest thing that was told and not taken.
    pub fn take(&mut self, now: Clocks) -> Option<QpFailure> {
        loop {
            let item = self.loaded.as_mut()?.ring.next()?;
            if item.len() >= size_of::<QpRecord>() {
                // SAFETY: the item holds a record, of which every bit pattern is valid; it may be unaligned.
                let record = unsafe { item.as_ptr().cast::<QpRecord>().read_unaligned() };
                if let Some(failure) = QpFailure::decode(&record, now) {
                    return Some(failure);
                }
            }
            self.damaged += 1;
        }
    }

    /// What the probes could not tell since they began.
    pub fn lost(&self) -> LostRecords {
        let values = self.loaded.as_ref().and_then(|it| it.lost.get(&0, 0).ok());
        values.iter().flat_map(|values| values.iter()).fold(
            LostRecords::default(),
            |sum, Losses(lost)| LostRecords {
                limited: sum.limited + lost.limited,
                ring_full: sum.ring_full + lost.ring_full,
                unreadable: sum.unreadable + lost.unreadable,
            },
        )
    }

    /// Records that were none.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Tries every point without a probe.
    fn attach(&mut self) {
        let missing: Vec<_> =
            self.points.iter_mut().filter(|watched| watched.probe.is_none()).collect();
        let points: Vec<_> = missing.iter().map(|watched| watched.point).collect();
        let types = Types::read(&self.sysfs, self.modules);
        match types.and_then(|types| types.find_all(&points)) {
            Ok((layout, found)) => {
                for (watched, found) in missing.into_iter().zip(found) {
                    let probe = found.and_then(|found| {
                        probe(&mut self.loaded, &layout, watched.point, &found, self.modules)
                    });
                    (watched.state, watched.probe) = match probe {
                        Ok((name, probe)) => (Ok(name), Some(probe)),
                        Err(absence) => (Err(absence), None),
                    };
                }
            }
            Err(absence) => {
                for watched in missing {
                    watched.state = Err(absence.clone());
                }
            }
        }
    }
}

fn probe(
    loaded: &mut Option<Loaded>,
    layout: &KernelLayout,
    point: Point,
    found: &Found,
    modules: Modules,
) -> Result<(&'static str, Probe), Absence> {
    let loaded = match loaded {
        Some(loaded) => loaded,
        None => loaded.insert(Loaded::load()?),
    };
    loaded.set_layout(layout, found.rxe_qp)?;
    let function = found.function;
    let link = loaded.attach(point, function.name)?;
    let loading = modules.loading(function.module);
    Ok((function.name, Probe { _link: link, module: function.module, loading }))
}

impl Loaded {
    fn load() -> Result<Self, Absence> {
        let mut ebpf =
            EbpfLoader::new().load(OBJECT).map_err(|error| refused("the maps", &error))?;
        let mut map = |name| {
            let missing = || Absence::Changed(format!("the object has no {name}"));
            ebpf.take_map(name).ok_or_else(missing)
        };
        let refused = |error| refused("the maps", &error);
        Ok(Self {
            layout: map("LAYOUT")?.try_into().map_err(refused)?,
            lost: map("LOST")?.try_into().map_err(refused)?,
            ring: map("RECORDS")?.try_into().map_err(refused)?,
            ebpf,
        })
    }

    /// Before the probe that reads it: no other one reads what changes later, the place in `rxe_qp`.
    fn set_layout(&mut self, layout: &KernelLayout, rxe_qp: Option<u32>) -> Result<(), Absence> {
        let before = self.layout.get(&0, 0).map_err(|error| refused("a map", &error))?.0.rxe_qp;
        let layout = KernelLayout { rxe_qp: rxe_qp.unwrap_or(before), ..*layout };
        self.layout.set(0, Words(layout), 0).map_err(|error| refused("a map", &error))
    }

    fn attach(&mut self, point: Point, function: &str) -> Result<KProbeLink, Absence> {
        let missing = || Absence::Changed(format!("the object has no {}", point.program()));
        let program = self.ebpf.program_mut(point.program()).ok_or_else(missing)?;
        let program: &mut KProbe =
            program.try_into().map_err(|error| refused("a program", &error))?;
        if program.fd().is_err() {
            program.load().map_err(|error| refused_program(&error))?;
        }
        let link = program.attach(function, 0).map_err(|error| refused("the probe", &error))?;
        program.take_link(link).map_err(|error| refused("the probe", &error))
    }
}

/// Without the verifier's log, which is for `cargo xtask verify-ebpf`.
fn refused_program(error: &ProgramError) -> Absence {
    match error {
        ProgramError::LoadError { io_error, .. } => refused("a program", io_error),
        other => refused("a program", other),
    }
}

fn refused(what: &'static str, error: &dyn std::error::Error) -> Absence {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    Absence::Refused { what, error: text }
}
