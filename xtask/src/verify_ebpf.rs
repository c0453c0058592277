//! `cargo xtask verify-ebpf`: what the kernel's verifier says about every program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use aya::programs::{Program, ProgramError};
use aya::{Ebpf, EbpfLoader};
use roce_common::config::setting;
use roce_ebpf_object::{Object, Repository, functions};

use crate::{process, table};

/// Lines of the verifier's log that are shown when it refuses a program.
const VERIFIER_LINES: usize = 25;

/// Small sizes: the verifier does not care, and nothing is counted here.
const MAP_ENTRIES: [(&str, u32); 7] = [
    ("NARROW_SLOTS", 128),
    ("NARROW_COLD", 128),
    ("WIDE_SLOTS", 128),
    ("WIDE_COLD", 128),
    ("SPILL", 64),
    ("TAPS", 64),
    ("FLIGHT_RECORDERS", 8),
];

/// Where a kernel with probes on its functions says so.
const KPROBES: &str = "/sys/bus/event_source/devices/kprobe";

/// Settings of the datapath that decide which branches the verifier walks.
const VARIANTS: [Variant; 2] = [
    Variant { name: "one interface", single_interface: 1, weak_memory_order: 0, recorders: 0 },
    Variant {
        name: "many, weak order, recording",
        single_interface: 0,
        weak_memory_order: 1,
        recorders: 4,
    },
];

struct Variant {
    name: &'static str,
    single_interface: u32,
    weak_memory_order: u32,
    recorders: u32,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Object to load, with the name that it has in the repository [default: the committed ones]
    object: Option<PathBuf>,
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    if !process::is_root() {
        bail!("loading eBPF programs needs root: run `sudo $(which cargo) xtask verify-ebpf`");
    }
    match &arguments.object {
        Some(path) => verify_file(which(path), path),
        None => Object::ALL
            .into_iter()
            .try_for_each(|object| verify_file(object, &repository.prebuilt_object(object))),
    }
}

fn which(path: &Path) -> Object {
    let has_name = |object: &Object| path.ends_with(object.file_name());
    Object::ALL.into_iter().find(has_name).unwrap_or(Object::Datapath)
}

fn verify_file(object: Object, path: &Path) -> Result<()> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    report(object, &content)
}

/// Prints instructions per program; with root also what the verifier and the JIT made of them.
///
/// Without root the second part is left out, and that is said.
pub(crate) fn report(object: Object, content: &[u8]) -> Result<()> {
    let functions = functions(content)?;
    if !process::is_root() {
        let rows: Vec<_> = functions
            .iter()
            .map(|it| [it.name.clone(), it.section.clone(), it.instructions.to_string()])
            .collect();
        table::print(["function", "section", "instructions"], &rows);
        println!("not loaded: that needs root");
        return Ok(());
    }
    let loaded = match object {
        Object::Datapath => VARIANTS
            .iter()
            .map(|variant| Ok((variant.name, load_datapath(content, variant)?)))
            .collect::<Result<Vec<_>>>()?,
        Object::QpWatch if !Path::new(KPROBES).exists() => {
            println!("{} not loaded: this kernel has no kprobes", object.file_name());
            return Ok(());
        }
        Object::QpWatch => vec![("", EbpfLoader::new().load(content)?)],
    };
    let mut rows = Vec::new();
    for (settings, mut loaded) in loaded {
        for (name, program) in loaded.programs_mut() {
            let own = functions.iter().find(|it| it.name == name).map_or(0, |it| it.instructions);
            let verified = verify(program).with_context(|| format!("{name}, {settings}"))?;
            rows.push([
                name.to_owned(),
                settings.to_owned(),
                own.to_string(),
                verified.translated,
                verified.walked,
                verified.jited,
            ]);
        }
    }
    rows.sort();
    table::print(
        ["program", "settings", "in object", "in kernel", "verified", "jited bytes"],
        &rows,
    );
    Ok(())
}

fn load_datapath(object: &[u8], variant: &Variant) -> Result<Ebpf> {
    let mut loader = EbpfLoader::new();
    for (name, entries) in MAP_ENTRIES {
        loader.map_max_entries(name, entries);
    }
    loader
        .override_global(setting::HASH_SEED, &0x5eed_u64, true)
        .override_global(setting::NARROW_LEN, &64_u32, true)
        .override_global(setting::WIDE_LEN, &64_u32, true)
        .override_global(setting::CPUS, &1_u32, true)
        .override_global(setting::SINGLE_INTERFACE, &variant.single_interface, true)
        .override_global(setting::WEAK_MEMORY_ORDER, &variant.weak_memory_order, true)
        .override_global(setting::RECORDERS, &variant.recorders, true)
        .load(object)
        .context("cannot load the eBPF object")
}

struct Verified {
    translated: String,
    walked: String,
    jited: String,
}

fn verify(program: &mut Program) -> Result<Verified> {
    let loaded = match program {
        Program::Xdp(program) => program.load(),
        Program::SchedClassifier(program) => program.load(),
        Program::KProbe(program) => program.load(),
        other => bail!("unexpected program type {:?}", other.prog_type()),
    };
    loaded.map_err(refusal)?;
    let info = program.info()?;
    let or_unknown =
        |value: Option<u32>| value.map_or_else(|| "unknown".to_owned(), |it| it.to_string());
    Ok(Verified {
        translated: or_unknown(info.size_translated().map(|bytes| bytes / 8)),
        walked: or_unknown(info.verified_instruction_count()),
        jited: info.size_jitted().to_string(),
    })
}

/// The end of the verifier's log says why; all of it can be a million lines.
pub(crate) fn refusal(error: ProgramError) -> anyhow::Error {
    match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            let lines: Vec<_> = log.trim_end().lines().collect();
            let end = lines[lines.len().saturating_sub(VERIFIER_LINES)..].join("\n");
            anyhow!("the kernel refused it ({io_error}); the verifier's last lines:\n{end}")
        }
        other => other.into(),
    }
}
